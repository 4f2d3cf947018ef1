{#- Why a Canal message cannot be taken for what it says: struct<code, detail>, null if it can. -#}
{% macro canal_problem() -%}
    coalesce(
        route_problem,
        json_problem,
        case when kind is null then {{ problem('unknown_operation', "'type is ' || coalesce(type, 'missing')") }} end,
        {{ incomplete_change('type') }},
        case
            when kind = 'row_change' and coalesce(size(row_images), 0) = 0
                then {{ problem('missing_image', "type || ' without rows in ' || image_field") }}
            when kind = 'row_change' and {{ any_of('row_images', is_empty_image) }}
                then {{ problem('missing_image', "type || ' with a row that is empty'") }}
            when kind = 'row_change' and old_images is not null and size(old_images) <> size(row_images)
                then {{ problem('wrong_type', "'old has ' || size(old_images) || ' rows, data has ' || size(row_images)") }}
        end,
        {{ position_problem('id', 'id') }},
        {{ time_problem('es', 'es', 'milliseconds') }},
        {{ time_problem('ts', 'ts', 'milliseconds') }}
    )
{%- endmacro %}

{% macro is_empty_image(image) -%}
    coalesce(size({{ image }}), 0) = 0
{%- endmacro %}
