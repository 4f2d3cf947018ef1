{#-
    The rows of silver.events of a format, from its last step. The columns of the step have the names that they have there: operation,
    database_name, table_name, before, after, before_is_complete, after_is_complete, sequence, and those that the format `has` beside them; what
    it does not have is null. The step also has `problem`, and what the model of all messages says of each: topic, partition, offset, format,
    ingested_at, bronze_version. `kind` is the kind that the message would have without its problem: a message with a problem becomes
    `rejected` and shows nothing else. Only rows for which `has_place` holds show their sequence. Formats of projects of before 0.2.0 say what they
    are `without`.
-#}
{% macro result_rows(step, has=none, has_place="kind in ('row_change', 'schema_change', 'truncate')", without=[]) -%}
    {%- set is_change = "kind = 'row_change'" -%}
    {%- set images = ['before', 'after', 'before_is_complete', 'after_is_complete'] | reject('in', without) | list -%}
    {%- set key_columns = columns_of_row('key_columns', names_in(['before', 'after'] | reject('in', without) | list)) -%}
    {%- set further = ['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id', 'transaction_row'] -%}
    {%- set has = ['operation', 'database_name', 'table_name', 'sequence'] + images + (further | reject('in', without) | list if has is none else has) -%}
    {%- set tables = 'array<struct<database_name: string, schema_name: string, table_name: string>>' -%}
select
    topic, partition, offset,
    {{ 'row_number' if 'row_number' in has else '0' }} as row_number,
    format,
    if(problem is null, kind, 'rejected') as kind,
    {%- for name, data_type, condition in [
        ('operation', 'string', is_change),
        ('database_name', 'string', 'true'),
        ('schema_name', 'string', 'true'),
        ('table_name', 'string', 'true'),
        ('key_columns', 'array<string>', is_change ~ ' and size(key_columns) > 0'),
        ('before', 'map<string, string>', is_change),
        ('after', 'map<string, string>', is_change),
        ('before_is_complete', 'boolean', is_change),
        ('after_is_complete', 'boolean', is_change),
        ('column_types', 'map<string, string>', is_change),
        ('source_type', 'string', "source_type <> ''"),
        ('ddl', 'string', "kind in ('schema_change', 'truncate')"),
        ('dropped_tables', tables, "kind = 'schema_change'"),
        ('committed_at', 'timestamp', 'true'),
        ('produced_at', 'timestamp', 'true'),
        ('sequence', 'string', has_place),
        ('transaction_id', 'string', "transaction_id <> ''"),
        ('transaction_row', 'bigint', 'true'),
    ] %}
    {{ 'if(problem is null and ' ~ condition ~ ', ' ~ {'key_columns': key_columns}.get(name, name) ~ ', null)' if name in has else 'cast(null as ' ~ data_type ~ ')' }} as {{ name }},
    {%- endfor %}
    ingested_at,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from {{ step }}
{%- endmacro %}
