{#- The fields of the SharePlex envelope of every dialect, for `json_messages`. -#}
{% macro shareplex_fields() -%}
    meta map<string, string>, data map<string, string>, key map<string, string>, sql map<string, string>
{%- endmacro %}

{#- A field of `meta`; null where it is missing, empty or the text `null`, which OMS writes for none. -#}
{% macro shareplex_meta(field) -%}
    nullif(nullif(json.meta['{{ field }}'], ''), 'null')
{%- endmacro %}

{#- When and where a SharePlex message says that its change was made, as columns of the step that reads it. -#}
{% macro shareplex_place() -%}
{{ shareplex_meta('time') }} as time,
{{ shareplex_timestamp('time', 'time_zone') }} as committed_at,
{{ shareplex_meta('posttime') }} as posttime,
{{ shareplex_timestamp('posttime', 'time_zone') }} as produced_at,
{{ shareplex_meta('scn') }} as scn,
{{ shareplex_meta('seq') }} as seq,
try_cast({{ shareplex_meta('seq') }} as bigint) as transaction_row,
{{ shareplex_meta('trans') }} as transaction_id
{%- endmacro %}
