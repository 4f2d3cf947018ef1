{#-
    Why a field is not a time in `unit` since 1970: struct<code, detail>, null if it is one or is missing. `field` is its name,
    `digits` its text.
-#}
{% macro time_problem(field, digits, unit) -%}
    case
        when {{ digits }} is not null and not {{ is_epoch(digits, unit) }}
            then {{ problem('wrong_type', "'" ~ field ~ " is ' || " ~ digits) }}
    end
{%- endmacro %}
