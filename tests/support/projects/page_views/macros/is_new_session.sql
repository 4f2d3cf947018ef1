{% macro is_new_session(previous, current) -%}
    {{ previous }} is null or {{ current }} > {{ previous }} + interval {{ var('idle_minutes') }} minutes
{%- endmacro %}
