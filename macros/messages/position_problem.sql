{#-
    Why a field is not a position in the source's log, a number of at most twenty digits: struct<code, detail>, null if it is one or
    is missing. `field` is its name, `digits` its text.
-#}
{% macro position_problem(field, digits) -%}
    case
        when {{ digits }} is not null and not {{ digits }} rlike r'^[0-9]{1,20}\z'
            then {{ problem('wrong_type', "'" ~ field ~ " is ' || " ~ digits) }}
    end
{%- endmacro %}
