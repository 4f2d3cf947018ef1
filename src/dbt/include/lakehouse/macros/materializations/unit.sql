{#-
    A unit test as dbt-core has it, but for how it learns the types of the model's columns: the model's query gets a name and
    is analysed once, where dbt-core makes an empty table of it first. Spark takes longer to analyse a format than to run it,
    and to compile it than to interpret it for the few rows of a test.
-#}
{% materialization unit, adapter='lakehouse' %}

    {% do adapter.tables.compile_queries(false) %}
    {% do adapter.tables.name_query('unit_tested', sql) %}
    {%- set expected, columns = config.get('expected_rows'), adapter.tables.columns_of_query('unit_tested') -%}

    {% call statement('main', fetch_result=true) -%}
        {{ get_unit_test_sql(
            'select * from unit_tested',
            config.get('expected_sql') or get_expected_sql(expected, columns.types, columns.quoted),
            columns.named(expected)
        ) }}
    {%- endcall %}
    {% do adapter.tables.compile_queries(true) %}

    {{ return({'relations': []}) }}

{% endmaterialization %}
