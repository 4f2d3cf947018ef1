{#- Base64 as lower-case hex; a text that is no Base64 stays as sent. -#}
{% macro base64_to_hex(text) -%}
    coalesce(lower(hex(try_to_binary({{ text }}, 'base64'))), {{ text }})
{%- endmacro %}
