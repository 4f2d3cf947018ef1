{#- Why a decoded Avro record cannot be taken for what it says: struct<code, detail>, null if it can. `timestamp` is its field's name. -#}
{% macro avro_problem(timestamp) -%}
    coalesce(
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
    )
{%- endmacro %}
