{#-
    The first key that changes of several source tables have, these tables, and how many such keys there are: among new changes, and the
    stored rows of their keys. A row that is deleted counts.
-#}
{% macro shared_keys(changes, table, found) -%}
    {%- set key = table.model.key -%}
    select _key, _tables, count(*) over () as _keys
    from (
        select to_json({{ key.as_one }}) as _key, array_sort(collect_set(_source_table)) as _tables
        from (
            select {{ key.names() }}, _source_table
            from (
                {{ changes }}
            )
            where _truncated_table is null and {{ key.is_known }}
            {{ union_of_rows_with_keys(table, found) if table.read is not none }}
        )
        group by {{ key.names() }}
        having min(_source_table) <> max(_source_table)
    )
    order by _key
    limit 1
{%- endmacro %}

{% macro union_of_rows_with_keys(table, found) -%}
    union all
    select {{ table.model.key.names() }}, _source_table
    from {{ table.storage }} as stored
    where
        {{ found.keys }} and _truncated_table is null
        and exists (select 1 from new_changes where {{ table.model.key.is_that_of('new_changes') }})
{%- endmacro %}
