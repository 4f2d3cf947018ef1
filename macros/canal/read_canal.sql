{#- The Canal envelope of every dialect, as `read_json` gives it. Values are quoted but in OMS; `more_fields` ends with a comma. -#}
{% macro read_canal(text, more_fields='') -%}
    {{ read_json(
        text,
        'type string, database string, table string, id string, es string, ts string, gtid string, isDdl string,'
        ~ ' sql string, pkNames array<string>, mysqlType map<string, string>,' ~ more_fields
        ~ ' data array<map<string, string>>, old array<map<string, string>>'
    ) }}
{%- endmacro %}
