{#-
    Why objects of a message are ambiguous: struct<code, detail>, null if each names a column once, or twice with one value.
    `lists` are arrays of such objects.
-#}
{% macro duplicate_columns(objects, lists=()) -%}
    case
        when
            {% for object in objects -%}
                {{ is_ambiguous(object) }}{{ ' or ' if not loop.last }}
            {%- endfor %}
            {%- for list in lists %} or {{ any_of(list, is_ambiguous) }}{% endfor %}
            then {{ problem('duplicate_keys', "'a column comes twice with different values'") }}
    end
{%- endmacro %}
