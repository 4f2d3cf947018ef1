-- asks
select _key, _tables, count(*) over () as _keys
from (
    select to_json(struct(`id`)) as _key, array_sort(collect_set(_source_table)) as _tables
    from (
        select `id`, _source_table
        from (
            select * from new_changes
        )
        where _truncated_table is null and `id` is not null
        union all
        select `id`, _source_table
        from gold_storage.things as stored
        where
        (stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint)) and _truncated_table is null
        and exists (select 1 from new_changes where stored.`id` <=> new_changes.`id`)
    )
    group by `id`
    having min(_source_table) <> max(_source_table)
)
order by _key
limit 1;
