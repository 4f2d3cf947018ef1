{#- The fields of DataWorks 2.0 as OMS writes it, for `json_messages`. -#}
{% macro oms_dataworks_fields() -%}
    schema struct<source: struct<dbType: string, dbName: string, schema: string, table: string>,
    column: array<map<string, string>>, pk: array<string>>,
    payload struct<before: struct<data: map<string, string>>, after: struct<data: map<string, string>>, op: string,
    scn: string comment "a number", ddl: struct<text: string>,
    timestamp: struct<eventTime: string comment "a number", systemTime: string comment "a number">>
{%- endmacro %}

{#- The fields of DataWorks Kafka, for `json_messages`. -#}
{% macro dataworks_kafka_fields() -%}
    schema struct<source: struct<dbType: string, dbName: string, schemaName: string, tableName: string>,
    dataColumn: array<map<string, string>>, primaryKey: array<string>>,
    payload struct<before: struct<dataColumn: map<string, string>>, after: struct<dataColumn: map<string, string>>,
    op: string, sequenceId: string comment "a number", ddl: struct<text: string>,
    timestamp: struct<eventTime: string comment "a number", systemTime: string comment "a number">>
{%- endmacro %}
