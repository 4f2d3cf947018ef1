{#- Why a field is no time in `unit` since 1970: struct<code, detail>, null if it is one or is missing. -#}
{% macro time_problem(field, digits, unit) -%}
    case
        when {{ digits }} is not null and not {{ is_epoch(digits, unit) }}
            then {{ problem('wrong_type', "'" ~ field ~ " is ' || " ~ digits) }}
    end
{%- endmacro %}
