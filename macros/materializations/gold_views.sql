{#- The rows that live: not deleted, and not older than the last TRUNCATE of their table. -#}
{% macro create_view_of_living_rows(view, storage) -%}
    create or replace view {{ view }}
    with schema evolution
    as
    select * except (_truncated_table, _column_sequences)
    from {{ storage }}
    where
        _truncated_table is null
        and _operation <> 'delete'
        and _sequence > coalesce(
            (
                select map_from_entries(collect_list(struct(_truncated_table, _sequence)))
                from {{ storage }}
                where _truncated_table is not null
            )[_source_table],
            ''
        )
{%- endmacro %}

{#- The changes that could not be merged, since their key is missing or does not fit its type. -#}
{% macro create_view_of_rows_without_key(storage, sql, columns, key) -%}
    create or replace view {{ storage.incorporate(path={'identifier': storage.identifier ~ '_without_key'}) }} as
    select * except (_truncated_table, _column_sequences)
    from (
        {{ typed_changes(sql, columns, key) }}
    )
    where _truncated_table is null and not ({{ key_is_known(key) }})
{%- endmacro %}
