{#-
    The id of the schema in the registry header of a value or a key: behind a zero byte, four bytes, or eight of which the first
    four are zero (Apicurio); no id is 0. Null without a header.
-#}
{% macro registry_id(bytes) -%}
    {%- set id = "substring(" ~ bytes ~ ", 2, if(startswith(" ~ bytes ~ ", X'0000000000'), 8, 4))" -%}
    if(startswith({{ bytes }}, X'00'), try_cast(conv(hex({{ id }}), 16, 10) as bigint), null)
{%- endmacro %}
