{#-
    The members of a Debezium message that silver reads, as fields of `from_json`: those of changes, of the topics of transactions and
    of schema changes, and of heartbeats.
-#}
{% macro debezium_fields() -%}
    before map<string, string>, after map<string, string>, op string, ts_ms string comment "a number",
    source struct<connector string, db string, schema string, table string, ts_ms string comment "a number",
    ts_us string comment "a number", ts_ns string comment "a number", keyspace string,
    txId string, gtid string, file string, pos string comment "a number", row string comment "a number",
    lsn string comment "a number", sequence string, scn string comment "a number", commit_scn string, txSeq string comment "a number",
    commit_lsn string, change_lsn string, event_serial_no string comment "a number",
    commit_ts string comment "a number", commit_time string comment "a number">,
    transaction struct<id string, total_order string comment "a number", transaction_rank string comment "a number",
    transaction_epoch string comment "a number">,
    status string, id string, databaseName string, ddl string
{%- endmacro %}

{#- What a message says, as one struct of `debezium_fields`: the message, or what stands beside its schema. -#}
{% macro debezium_envelope(json) -%}
    {%- set names = ['before', 'after', 'op', 'ts_ms', 'source', 'transaction', 'status', 'id', 'databasename', 'ddl'] -%}
    coalesce({{ json }}.payload, struct({% for name in names %}{{ json }}.{{ name }}{{ ', ' if not loop.last }}{% endfor %}))
{%- endmacro %}
