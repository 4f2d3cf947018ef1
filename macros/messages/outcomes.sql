{#- The former name of `result_rows`, for formats of projects of before 0.2.0; 0.3.0 removes it. -#}
{% macro outcomes(step, has=none, has_place="kind in ('row_change', 'schema_change', 'truncate')", without=[]) -%}
    {%- if execute -%}
        {%- do log(model.name ~ ': the macro `outcomes` is called `result_rows` now; 0.3.0 removes the former name.', info=true) -%}
    {%- endif -%}
    {{ result_rows(step, has, has_place, without) }}
{%- endmacro %}
