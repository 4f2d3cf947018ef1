{#- The fields of the SharePlex envelope of every dialect, for `exact_json` and `read_json`. -#}
{% macro shareplex_fields() -%}
    meta map<string, string>, data map<string, string>, key map<string, string>, sql map<string, string>
{%- endmacro %}

{#- A field of `meta`; null where it is missing, empty or the text `null`, which OMS writes for none. -#}
{% macro shareplex_meta(field) -%}
    nullif(nullif(json.meta['{{ field }}'], ''), 'null')
{%- endmacro %}
