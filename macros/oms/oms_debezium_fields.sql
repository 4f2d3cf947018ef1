{#- The members of OMS's messages in the form of Debezium that silver reads, as fields of `from_json`. -#}
{% macro oms_debezium_fields() -%}
    op string, before map<string, string>, after map<string, string>,
    source struct<connector string, db string, table string, ts_ms string comment "a number", pos string>, ts_ms string comment "a number"
{%- endmacro %}
