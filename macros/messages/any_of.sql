{#-
    Whether a condition holds for any of some objects of a message. Most messages have one, and for that the condition is
    compiled; below a lambda nothing is. `condition` is a macro of an object.
-#}
{% macro any_of(objects, condition) -%}
    case size({{ objects }})
        when 1 then {{ condition('get(' ~ objects ~ ', 0)') }}
        else exists({{ objects }}, object -> {{ condition('object') }})
    end
{%- endmacro %}
