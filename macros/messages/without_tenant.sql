{#- OceanBase names `tenant.database`; the tenant is not part of the database's name. -#}
{% macro without_tenant(database) -%}
    regexp_replace({{ database }}, r'^[^.]*\.', '')
{%- endmacro %}
