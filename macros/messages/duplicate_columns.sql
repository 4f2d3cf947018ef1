{#- Why objects of a message are ambiguous: struct<code, detail>, null if each names a column once, or twice with one value. -#}
{% macro duplicate_columns(objects) -%}
    case
        when
            {% for object in objects -%}
                {{ is_ambiguous(object) }}{{ ' or ' if not loop.last }}
            {%- endfor %}
            then {{ two_values() }}
    end
{%- endmacro %}

{% macro two_values() -%}
    {{ problem('duplicate_keys', "'a column comes twice with different values'") }}
{%- endmacro %}
