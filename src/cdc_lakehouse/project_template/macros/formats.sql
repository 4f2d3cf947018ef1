{#- The formats of this project, beside those of cdc_lakehouse: each has a model of its name in models/silver. -#}
{% macro own_formats() -%}
    {{ return([
    ]) }}
{%- endmacro %}
