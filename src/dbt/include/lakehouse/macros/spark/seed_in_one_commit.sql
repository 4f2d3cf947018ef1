{#- A seed is replaced in one commit, of Delta unless the project says another format, which the rows bring; only a seed without rows is made here. -#}
{% macro lakehouse__create_csv_table(model, agate_table) -%}
    {{ return('' if agate_table.rows else lakehouse__load_csv_rows(model, agate_table)) }}
{%- endmacro %}

{% macro lakehouse__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
    {{ return(create_csv_table(model, agate_table)) }}
{%- endmacro %}

{% macro lakehouse__load_csv_rows(model, agate_table) -%}
    {{ return(adapter.seeds.replace(this, agate_table, model.config.get('column_types', {}), file_format_clause().strip() or 'using delta')) }}
{%- endmacro %}
