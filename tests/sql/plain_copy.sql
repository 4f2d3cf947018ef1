-- stages plain_rows
with touched as (
    select distinct `id` from changed_rows where _truncated_table is null
)
select _shown.*, _touched_key, _shown is null as _is_gone
from (
    select struct(stored.*) as _shown, struct(stored.`id`) as _touched_key
    from gold.things as stored
    left semi join touched
    on stored.`id` <=> touched.`id`
    where ((stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint)))
    union all
    select null, struct(`id`) from touched
);

-- runs
merge into gold_plain.things as stored
using plain_rows as changed
on changed._is_gone
and stored.`id` <=> changed._touched_key.`id`
and ((stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint)))
when matched then delete
when not matched and not changed._is_gone then insert *;
