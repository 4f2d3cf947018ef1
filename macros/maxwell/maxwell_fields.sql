{#- The members of Maxwell's messages that silver reads, as fields of `from_json`. -#}
{% macro maxwell_fields() -%}
    database string, table string, type string, ts string comment "a number", xid string, xoffset string comment "a number",
    commit string comment "a boolean", position string,
    primary_key_columns array<string>, data map<string, string>, old map<string, string>, sql string
{%- endmacro %}
