{#-
    A unit test as dbt-core has it, but for how it learns the types of the model's columns: the model's query gets a name and
    is analysed once, where dbt-core makes an empty table of it first. Spark takes longer to analyse a format than to run it.
-#}
{% materialization unit, adapter='lakehouse' %}

    {%- set expected = config.get('expected_rows') -%}
    {{ name_query('unit_tested', sql) }}

    {%- set types, quoted = {}, {} -%}
    {%- for name, data_type in adapter.columns_of_query('unit_tested') -%}
        {% do types.update({name | lower: data_type}) %}
        {% do quoted.update({name | lower: adapter.quote(name)}) %}
    {%- endfor -%}

    {%- set expected_sql = config.get('expected_sql') or get_expected_sql(expected, types, quoted) -%}
    {%- set compared = [] -%}
    {%- for name in (expected[0] if expected else types) -%}
        {% do compared.append(quoted[name | lower]) %}
    {%- endfor -%}

    {% call statement('main', fetch_result=true) -%}
        {{ get_unit_test_sql('select * from unit_tested', expected_sql, compared) }}
    {%- endcall %}

    {{ return({'relations': []}) }}

{% endmaterialization %}
