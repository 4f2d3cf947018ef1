{#- Why a message is rejected: a stable code, and what was found where, cut after a thousand characters. -#}
{% macro problem(code, detail) -%}
    struct('{{ code }}' as code, left({{ detail }}, 1000) as detail)
{%- endmacro %}
