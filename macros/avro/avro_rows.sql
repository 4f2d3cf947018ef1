{#-
    The rows of Avro messages out of their decoded `record`, with the `problem` there may be: one for each message, or for each table
    of a TRUNCATE. `timestamp` is the name of the field of the commit time, `database` and `source_type` tell where the record
    is from, `is_waiting` whether it is not whole yet.
-#}
{% macro avro_rows(records, timestamp, database='record.database_name', source_type='record.source_type', is_waiting='false') -%}
select
    *,
    explode(sequence(0, {{ rows_of_truncate() }} - 1)) as row_number
from (
    select
        *,
        if(value is null, null, {{ avro_problem(timestamp) }}) as problem
    from (
        select
            *,
            record.ddl as statement,
            record.stated,
            if({{ is_waiting }}, 'control', {{ avro_kind() }}) as kind,
            {{ source_names(database, 'record.table_name', source_type) }}
        from {{ records }}
    )
)
{%- endmacro %}
