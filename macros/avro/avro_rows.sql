{#-
    The rows of Avro messages: one row per message, or one per table of a TRUNCATE, with the reason to reject the message in
    `problem`. `timestamp` is the name of the field of the commit time; the other arguments are those of `avro_read`. Needs the
    columns that `avro_read` needs, and route_problem.
-#}
{% macro avro_rows(records, timestamp, database='record.database_name', source_type='record.source_type', is_waiting='false') -%}
select
    *,
    explode(sequence(0, if(problem is null, coalesce(size(truncated), 1), 1) - 1)) as row_number
from (
    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            case
                when record.error_code is not null then struct(record.error_code as code, left(record.error_detail, 1000) as detail)
                when kind is null
                    then {{ problem('unknown_operation', "'operation is ' || coalesce(record.operation, 'missing')") }}
                when kind = 'row_change' and record.operation <> 'DELETE' and coalesce(size(record.after), 0) = 0
                    then {{ problem('missing_image', "record.operation || ' without afterImages'") }}
                when kind = 'row_change' and record.operation = 'DELETE' and coalesce(size(record.before), 0) = 0
                    then {{ problem('missing_image', "'DELETE without beforeImages'") }}
            end,
            {{ incomplete_change('record.operation') }},
            {{ position_problem('id', 'cast(record.id as string)') }},
            {{ time_problem(timestamp, 'cast(record.source_timestamp as string)', 'seconds') }}
        )) as problem
    from ({{ avro_read(records, database, source_type, is_waiting) }})
)
{%- endmacro %}
