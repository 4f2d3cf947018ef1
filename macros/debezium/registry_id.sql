{#- The id of the schema in the registry header of a value or a key: behind a zero byte, four bytes. Null without a header. -#}
{% macro registry_id(bytes) -%}
    if(startswith({{ bytes }}, X'00'), try_cast(conv(hex(substring({{ bytes }}, 2, 4)), 16, 10) as bigint), null)
{%- endmacro %}
