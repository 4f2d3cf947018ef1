{#- The fields of the Canal envelope of every dialect, for `json_messages`. -#}
{% macro canal_fields() -%}
    type string, database string, table string,
    id string comment "a number", es string comment "a number", ts string comment "a number",
    gtid string, isDdl string comment "a boolean", sql string, pkNames array<string>,
    mysqlType map<string, string>, data array<map<string, string>>, old array<map<string, string>>
{%- endmacro %}
