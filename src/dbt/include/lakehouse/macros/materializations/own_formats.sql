{#-
    The formats of a project beside those of cdc_lakehouse. A project that `lakehouse init` made has its own macro of this name. This one
    is not beside `formats`: dbt would take the two for one package's, and not parse `events` again when a project's list changes.
-#}
{% macro own_formats() -%}
    {{ return([]) }}
{%- endmacro %}
