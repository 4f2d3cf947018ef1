{#- Why a message is rejected: a stable code, and what was found where. -#}
{% macro problem(code, detail) -%}
    struct('{{ code }}' as code, {{ detail }} as detail)
{%- endmacro %}
