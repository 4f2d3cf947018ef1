{#-
    As dbt-spark has it, but the view takes over changed types of what it reads: a table that is rebuilt has lost the NOT NULL
    of its columns, and a view with a struct of them could not be read any more.
-#}
{% macro lakehouse__create_view_as(relation, sql) -%}
    create or replace view {{ relation }}
    {%- if config.persist_column_docs() %}
    ({{ get_persist_docs_column_list(model.columns, get_columns_in_query(sql)) }})
    {%- endif %}
    {{ comment_clause() }}
    with schema type evolution
    {%- if config.get('contract').enforced %}
    {{ get_assert_columns_equivalent(sql) }}
    {%- endif %}
    as {{ sql }}
{%- endmacro %}
