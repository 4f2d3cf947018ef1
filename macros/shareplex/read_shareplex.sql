{#- The SharePlex envelope of every dialect, as `read_json` gives it; OMS leaves its numbers bare. -#}
{% macro read_shareplex(text) -%}
    {{ read_json(
        text,
        'meta map<string, string>, data map<string, string>, key map<string, string>, sql map<string, string>'
    ) }}
{%- endmacro %}

{#- A field of `meta`; null where it is missing, empty or the text `null`, which OMS writes for none. -#}
{% macro shareplex_meta(field) -%}
    nullif(nullif(json.meta['{{ field }}'], ''), 'null')
{%- endmacro %}
