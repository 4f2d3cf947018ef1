{#-
    As dbt-spark has it, but the view takes over changed types of what it reads: a table that is rebuilt has lost the NOT NULL
    of its columns, and a view with a struct of them could not be read any more.
-#}
{% macro lakehouse__create_view_as(relation, sql) -%}
    create or replace view {{ relation }}
    {{ '(' ~ get_persist_docs_column_list(model.columns, get_columns_in_query(sql)) ~ ')' if config.persist_column_docs() }}
    {{ comment_clause() }}
    tblproperties ('cdc_lakehouse.definition' = '{{ adapter.views.definition_of_view(sql) }}')
    with schema type evolution
    {{ get_assert_columns_equivalent(sql) if config.get('contract').enforced }}
    as {{ sql }}
{%- endmacro %}
