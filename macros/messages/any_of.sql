{#-
    Whether a condition holds for any object of an array. Most arrays have one object, and Spark compiles the condition for that
    case; it compiles nothing below a lambda. `condition` is a macro that takes one object.
-#}
{% macro any_of(objects, condition) -%}
    case size({{ objects }})
        when 1 then {{ condition('get(' ~ objects ~ ', 0)') }}
        else exists({{ objects }}, object -> {{ condition('object') }})
    end
{%- endmacro %}
