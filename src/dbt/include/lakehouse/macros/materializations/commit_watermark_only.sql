{#- A statement that changes no row and writes no file, but commits the watermark that was set for it. -#}
{% macro commit_watermark_only(relation) -%}
    update {{ relation }} set _sequence = _sequence where false
{%- endmacro %}
