{#- Why a decoded Avro record cannot be taken for what it says: struct<code, detail>, null if it can. `timestamp` is its field's name. -#}
{% macro avro_problem(timestamp) -%}
    coalesce(
        route_problem,
        case
            when error_code is not null then struct(error_code as code, left(error_detail, 1000) as detail)
            when kind is null
                then {{ problem('unknown_operation', "'operation is ' || coalesce(operation, 'missing')") }}
            when kind = 'row_change' and operation <> 'DELETE' and coalesce(size(after), 0) = 0
                then {{ problem('missing_image', "operation || ' without afterImages'") }}
            when kind = 'row_change' and operation = 'DELETE' and coalesce(size(before), 0) = 0
                then {{ problem('missing_image', "'DELETE without beforeImages'") }}
        end,
        {{ incomplete_change('operation') }},
        {{ position_problem('id', 'cast(id as string)') }},
        {{ time_problem(timestamp, 'cast(source_timestamp as string)', 'seconds') }}
    )
{%- endmacro %}
