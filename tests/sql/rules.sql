-- runs
create or replace view gold_storage.things_judged as
select
`id`,
`status`,
`total`,
`tax`,
`_sequence`,
`_committed_at`,
`_operation`,
concat(_problems, _violations) as _problems,
`_source_table`,
`_topic`,
`_partition`,
`_offset`,
`_row_number`,
`_bronze_version`,
_breaks_1 as _is_held
from (
    select
    *,
    try_cast((
            total * 0.2
        ) as decimal(10,2)) as `tax`
    from (
        select
        * except (`total`, `tax`),
        if(_breaks_0, null, `total`) as `total`,
        array_except(array(
                cast(null as struct<column: string, code: string, text: string>), if(`tax` is null and (
                        total * 0.2
                    ) is not null, named_struct('column', 'tax', 'code', 'out_of_range', 'text', cast((
                                total * 0.2
                            ) as string)), null), if(_breaks_0, named_struct('column', 'total', 'code', 'paid', 'text', to_json(struct(`id`, `total`))), null), if(_breaks_1, named_struct('column', cast(null as string), 'code', 'known', 'text', to_json(struct(`id`, `status`))), null)
            ), array(cast(null as struct<column: string, code: string, text: string>))) as _violations
        from (
            select
            *,
            (total > 0
            ) <=> false as _breaks_0,
            (status <> '?'
            ) <=> false as _breaks_1
            from (
                select
                *,
                try_cast((
                        total * 0.2
                    ) as decimal(10,2)) as `tax`
                from (
                    select
                    * except (`_sequence`, `_committed_at`, `_operation`, `_problems`, `_source_table`, `_topic`, `_partition`, `_offset`, `_row_number`, `_bronze_version`, `_truncated_table`, `_column_sequences`, `_is_whole`, `_is_replaced`, `_fingerprint`),
                    `_sequence`,
                    `_committed_at`,
                    `_operation`,
                    if(_is_whole and _column_sequences is not null, concat(_problems, transform(coalesce(array_intersect(map_keys(_column_sequences), json_object_keys(to_json(struct(`status`, `total`), map('ignoreNullFields', 'true')))), map_keys(_column_sequences)), name -> named_struct('column', name, 'code', 'column_gone', 'text', cast(null as string)))), _problems) as _problems,
                    `_source_table`,
                    `_topic`,
                    `_partition`,
                    `_offset`,
                    `_row_number`,
                    `_bronze_version`
                    from gold_storage.things
                    where
                    _truncated_table is null
                    and not (_operation = 'delete'
                        or _sequence <= coalesce(
                            (
                                select map_from_entries(collect_list(struct(_truncated_table, _sequence)))
                                from (
                                    select _truncated_table, max(_sequence) as _sequence
                                    from gold_storage.things
                                    where _truncated_table is not null and _operation in ('truncate', 'extract')
                                    group by _truncated_table
                                )
                            )[_source_table],
                            ''
                    ))
                )
            )
        )
    )
);

-- runs
create or replace view gold.things as
select * except (_is_held)
from gold_storage.things_judged
where not _is_held;

-- runs
create or replace view gold_storage.things_held as
select * except (_is_held)
from gold_storage.things_judged
where _is_held;

-- runs
create or replace view gold_storage.things_accounting as
select
'things' as table_name,
merged.merged_rows,
(select count(*) from gold.things) as shown_rows,
(select count(*) from gold_storage.things_held) as held_rows,
stored.stored_keys - merged.active_keys as deleted_keys
from (
    select count(*) as merged_rows, count_if(true) as active_keys
    from (
        select
        * except (`_sequence`, `_committed_at`, `_operation`, `_problems`, `_source_table`, `_topic`, `_partition`, `_offset`, `_row_number`, `_bronze_version`, `_truncated_table`, `_column_sequences`, `_is_whole`, `_is_replaced`, `_fingerprint`),
        `_sequence`,
        `_committed_at`,
        `_operation`,
        if(_is_whole and _column_sequences is not null, concat(_problems, transform(coalesce(array_intersect(map_keys(_column_sequences), json_object_keys(to_json(struct(`status`, `total`), map('ignoreNullFields', 'true')))), map_keys(_column_sequences)), name -> named_struct('column', name, 'code', 'column_gone', 'text', cast(null as string)))), _problems) as _problems,
        `_source_table`,
        `_topic`,
        `_partition`,
        `_offset`,
        `_row_number`,
        `_bronze_version`
        from gold_storage.things
        where
        _truncated_table is null
        and not (_operation = 'delete'
            or _sequence <= coalesce(
                (
                    select map_from_entries(collect_list(struct(_truncated_table, _sequence)))
                    from (
                        select _truncated_table, max(_sequence) as _sequence
                        from gold_storage.things
                        where _truncated_table is not null and _operation in ('truncate', 'extract')
                        group by _truncated_table
                    )
                )[_source_table],
                ''
        ))
    )
) as merged
cross join (
    select count(distinct struct(`id`)) as stored_keys
    from gold_storage.things
    where _truncated_table is null
) as stored;

-- runs
create or replace view gold_storage.things_without_key as
select * except (_image, _is_whole, _is_replaced, _unfit)
from (
    select *, if(size(_unfit) = 0, _unfit, transform(_unfit, unfit -> named_struct('column', unfit.column, 'code', case when unfit.code <> '' then unfit.code when unfit.text rlike '^0000-00-00|^[0-9]{4}-00-|^[0-9]{4}-[0-9]{2}-00' then 'zero_date' when unfit.text rlike r'^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$' then 'out_of_range' else 'invalid' end, 'text', unfit.text))) as _problems
    from (
        select
        *,
        array_except(array(
                if(`id` is null and _image['id'] is not null, named_struct('column', 'id', 'code', '', 'text', _image['id']), null)
            ), array(cast(null as struct<column: string, code: string, text: string>))) as _unfit
        from (
            select * from (
                select
                sequence as _sequence,
                image as _image,
                try_cast(image['id'] as bigint) as id,
                image['status'] as status,
                try_cast(image['total'] as decimal(10, 2)) as total
                from (select * from silver.row_images where ((database_name = 'shop' and schema_name is null or database_name is null and schema_name = 'shop') and table_name = 'orders')) as row_images
            )
            where _operation not in ('truncate', 'extract')
        )
    )
)
where size(_problems) > 0 or not (`id` is not null);

-- runs
create or replace view gold_storage.things_problems tblproperties ('cdc_lakehouse.rules' = '2aed221f369bc4915055df057b32dc7a') as
select 'things' as table_name, problem.column as column_name, problem.code, problem.text, committed_at
from (
    select _committed_at as committed_at, explode(_problems) as problem
    from gold_storage.things_judged
    union all
    select _committed_at as committed_at, explode(_problems) as problem
    from gold_storage.things_without_key
    union all
    select _committed_at as committed_at, named_struct('column', cast(null as string), 'code', 'missing_key', 'text', cast(null as string)) as problem
    from gold_storage.things_without_key
);

-- stages new_changes
select
`id`,
if(_operation <> 'delete', `status`, null) as `status`,
if(_operation <> 'delete' and `_doubt_of_total` is null, `total`, null) as `total`,
if(_operation <> 'delete', if(size(_unfit) = 0, _unfit, transform(_unfit, unfit -> named_struct('column', unfit.column, 'code', case when unfit.code <> '' then unfit.code when unfit.text rlike '^0000-00-00|^[0-9]{4}-00-|^[0-9]{4}-[0-9]{2}-00' then 'zero_date' when unfit.text rlike r'^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$' then 'out_of_range' else 'invalid' end, 'text', unfit.text))), cast(array() as array<struct<column: string, code: string, text: string>>)) as _problems,
_sequence,
_committed_at,
_operation,
_source_table,
_topic,
_partition,
_offset,
_row_number,
_bronze_version,
if(_operation in ('truncate', 'extract'), _source_table, null) as _truncated_table,
case when (_is_replaced or _operation in ('update') or (_operation = 'insert' and _is_whole <=> false)) and not ((map_keys(_image) = array('id', 'status', 'total') or size(array_except(array('id', 'status', 'total'), map_keys(_image))) = 0)) then map_from_entries(transform(array_except(cast(array('status', 'total') as array<string>), map_keys(_image)), name -> struct(name, ''))) end as _column_sequences,
_is_whole,
_is_replaced,
xxhash64(_operation, map_entries(_image)) as _fingerprint
from (
    select
    *,
    array_except(array(
            if(`id` is null and _image['id'] is not null, named_struct('column', 'id', 'code', '', 'text', _image['id']), null),
            if(`status` is null and _image['status'] is not null, named_struct('column', 'status', 'code', '', 'text', _image['status']), null),
            if(`_doubt_of_total` is not null or `total` is null and _image['total'] is not null, named_struct('column', 'total', 'code', coalesce(`_doubt_of_total`, ''), 'text', _image['total']), null)
        ), array(cast(null as struct<column: string, code: string, text: string>))) as _unfit
    from (
        select
        *,
        case when `total` is null then null when _image['total'] = cast(`total` as string) then null when length(regexp_extract(_image['total'], r'^[^eE.]*\.([0-9]*?)0*$', 1)) > 2 then 'loses_digits' when `total` <> try_cast(_image['total'] as decimal(38, 30)) then 'loses_digits' end as `_doubt_of_total`
        from (
            select * from (
                select
                sequence as _sequence,
                image as _image,
                try_cast(image['id'] as bigint) as id,
                image['status'] as status,
                try_cast(image['total'] as decimal(10, 2)) as total
                from (select * from silver.row_images where ((database_name = 'shop' and schema_name is null or database_name is null and schema_name = 'shop') and table_name = 'orders')) as row_images
            )
            where _bronze_version <= 7 and _bronze_version > 5
        )
    )
);

-- asks
select count(*) as changes, count_if(_column_sequences is not null) as partial_changes, count_if(_is_replaced) as replaced_rows, count_if((_operation = 'insert' and _column_sequences is not null)) as begun_rows, count_if(_truncated_table is not null) as truncates, left(cast(min(`id`) as string), 1000) as first_0, left(cast(max(`id`) as string), 1000) as last_0, max(length(cast(`id` as string))) <= 1000 as is_short_0, to_json(collect_set(left(cast(`id` as string), 1000))) as keys from new_changes;

-- stages changed_rows
select
_row.*
from (
    select
    max_by(struct(changed.*), struct(_sequence, not _is_replaced, _partition, _offset, _row_number)) as _row
    from (
        select * from new_changes
    ) as changed
    where _truncated_table is not null or (`id` is not null)
    group by `id`, _truncated_table, if(_truncated_table is null, null, _operation)
);

-- commits, with silver.events read to 7
merge into gold_storage.things as stored
using changed_rows as changed
on stored.`id` <=> changed.`id` and stored._truncated_table <=> changed._truncated_table
and if(stored._truncated_table is null, null, stored._operation) <=> if(changed._truncated_table is null, null, changed._operation) and ((stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint)))
when matched and (changed._sequence > stored._sequence or (changed._sequence = stored._sequence and changed._fingerprint <> stored._fingerprint and struct(not changed._is_replaced, changed._partition, changed._offset, changed._row_number) > struct(not stored._is_replaced, stored._partition, stored._offset, stored._row_number)))
then update set *
when not matched then insert *;
