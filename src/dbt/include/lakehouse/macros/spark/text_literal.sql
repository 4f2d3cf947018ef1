{#- A text as a literal of Spark SQL. Spark takes `${...}` for a variable even there, so that no `{` may stand in it as such. -#}
{% macro text_literal(text) -%}
    {{ return("'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") | replace('{', '\\u007b') ~ "'") }}
{%- endmacro %}
