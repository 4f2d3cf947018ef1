{#-
    The rows of silver.events of a format, from its last step. The columns of the step have the names that they have there;
    `without` names those that the format does not have. The step also has `problem`, and what the model `messages` says of a
    message: topic, partition, offset, format, ingested_at, bronze_version. `kind` is the kind that the message would have without
    its problem: a message with a problem becomes `rejected` and shows nothing else. Only rows for which `has_place` holds show
    their sequence.
-#}
{% macro outcomes(step, without=[], has_place="kind in ('row_change', 'schema_change', 'truncate')") -%}
    {%- set is_change = "kind = 'row_change'" -%}
    {%- set image = 'map<string, string>' -%}
    {%- set key_columns = columns_of_row('key_columns', names_in(['before', 'after'] | reject('in', without) | list)) -%}
    {%- set tables = 'array<struct<database_name: string, schema_name: string, table_name: string>>' -%}
select
    topic,
    partition,
    offset,
    {{ '0' if 'row_number' in without else 'row_number' }} as row_number,
    format,
    if(problem is null, kind, 'rejected') as kind,
    {%- for name, data_type, condition in [
        ('operation', 'string', is_change),
        ('database_name', 'string', 'true'),
        ('schema_name', 'string', 'true'),
        ('table_name', 'string', 'true'),
        ('key_columns', 'array<string>', is_change ~ ' and size(key_columns) > 0'),
        ('before', image, is_change),
        ('after', image, is_change),
        ('before_is_complete', 'boolean', is_change),
        ('after_is_complete', 'boolean', is_change),
        ('column_types', image, is_change),
        ('source_type', 'string', "source_type <> ''"),
        ('ddl', 'string', "kind in ('schema_change', 'truncate')"),
        ('dropped_tables', tables, "kind = 'schema_change'"),
        ('committed_at', 'timestamp', 'true'),
        ('produced_at', 'timestamp', 'true'),
        ('sequence', 'string', has_place),
        ('transaction_id', 'string', "transaction_id <> ''"),
        ('transaction_row', 'bigint', 'true'),
    ] %}
    {{ 'cast(null as ' ~ data_type ~ ')' if name in without else 'if(problem is null and ' ~ condition ~ ', ' ~ {'key_columns': key_columns}.get(name, name) ~ ', null)' }} as {{ name }},
    {%- endfor %}
    ingested_at,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from {{ step }}
{%- endmacro %}
