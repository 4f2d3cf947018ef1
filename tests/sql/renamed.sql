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
                from (select * except (image, key_columns), transform_keys(image, (name, value) -> case when name = 'nr' and not (map_contains_key(image, 'id')) then 'id' when name = 'state' and not (map_contains_key(image, 'status')) then 'status' when name = 'phase' and not (map_contains_key(image, 'status') or map_contains_key(image, 'state')) then 'status' else name end) as image, transform(key_columns, name -> case when name = 'nr' and not (map_contains_key(image, 'id')) then 'id' when name = 'state' and not (map_contains_key(image, 'status')) then 'status' when name = 'phase' and not (map_contains_key(image, 'status') or map_contains_key(image, 'state')) then 'status' else name end) as key_columns from silver.row_images where ((database_name = 'shop' and schema_name is null or database_name is null and schema_name = 'shop') and table_name = 'orders')) as row_images
            )
            where _bronze_version <= 7 and _bronze_version > 5
        )
    )
);

-- asks
select count(*) as changes, count_if(_column_sequences is not null) as partial_changes, count_if(_is_replaced) as replaced_rows, count_if((_operation = 'insert' and _column_sequences is not null)) as begun_rows, count_if(_truncated_table is not null) as truncates, left(cast(min(`id`) as string), 1000) as first_0, left(cast(max(`id`) as string), 1000) as last_0, max(length(cast(`id` as string))) <= 1000 as is_short_0, to_json(collect_set(left(cast(`id` as string), 1000))) as keys from new_changes;

-- runs
alter table gold_storage.things set tblproperties ('cdc_lakehouse.partial_rows' = 'some');

-- stages changed_rows
select
_row.`id` as `id`,
`status`.value as `status`,
`total`.value as `total`,
_row.`_sequence` as `_sequence`,
_row.`_committed_at` as `_committed_at`,
_row.`_operation` as `_operation`,
_row.`_source_table` as `_source_table`,
_row.`_topic` as `_topic`,
_row.`_partition` as `_partition`,
_row.`_offset` as `_offset`,
_row.`_row_number` as `_row_number`,
_row.`_bronze_version` as `_bronze_version`,
_row.`_truncated_table` as `_truncated_table`,
_row.`_is_whole` as `_is_whole`,
_row.`_is_replaced` as `_is_replaced`,
_row.`_fingerprint` as `_fingerprint`,
flatten(array(
        cast(array() as array<struct<column: string, code: string, text: string>>), `status`.problems, `total`.problems
)) as _problems,
get(filter(array(map_filter(cast(map('status', `status`.sequence, 'total', `total`.sequence) as map<string, string>), (name, written) -> written < _row._sequence)), older -> size(older) > 0), 0) as _column_sequences
from (
    select
    max_by(struct(`status` as value, filter(changed._problems, problem -> problem.column = 'status') as problems, coalesce(changed._column_sequences['status'], changed._sequence) as sequence), struct(coalesce(changed._column_sequences['status'], changed._sequence), not _is_replaced, _partition, _offset, _row_number)) as `status`,
    max_by(struct(`total` as value, filter(changed._problems, problem -> problem.column = 'total') as problems, coalesce(changed._column_sequences['total'], changed._sequence) as sequence), struct(coalesce(changed._column_sequences['total'], changed._sequence), not _is_replaced, _partition, _offset, _row_number)) as `total`,
    max_by(struct(changed.*), struct(_sequence, not _is_replaced, _partition, _offset, _row_number)) as _row
    from (
        select
        * except (_column_sequences, _removed_key, _new_key),
        if(_is_replaced and _new_key is not null, null, _column_sequences) as _column_sequences
        from (
            select
            *,
            max(if(_operation = 'delete' and `id` is not null, struct(`id`), null)) over message_row as _removed_key,
            max(if(_operation not in ('delete', 'truncate', 'drop', 'extract'), struct(`id`), null)) over message_row as _new_key
            from (
                select * from new_changes
            )
            window message_row as (partition by _topic, _partition, _offset, _row_number)
        )
        where not (_operation = 'delete' and _new_key <=> struct(`id`))
    ) as changed
    where _truncated_table is not null or (`id` is not null)
    group by `id`, _truncated_table, if(_truncated_table is null, null, _operation)
);

-- commits, with silver.events read to 7
merge into gold_storage.things as stored
using changed_rows as changed
on stored.`id` <=> changed.`id` and stored._truncated_table <=> changed._truncated_table
and if(stored._truncated_table is null, null, stored._operation) <=> if(changed._truncated_table is null, null, changed._operation) and ((stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint)))
when matched and changed._column_sequences is null and (changed._sequence > stored._sequence or (changed._sequence = stored._sequence and changed._fingerprint <> stored._fingerprint and struct(not changed._is_replaced, changed._partition, changed._offset, changed._row_number) > struct(not stored._is_replaced, stored._partition, stored._offset, stored._row_number)))
then update set *
when matched and changed._sequence = stored._sequence and changed._fingerprint <> stored._fingerprint and struct(not changed._is_replaced, changed._partition, changed._offset, changed._row_number) > struct(not stored._is_replaced, stored._partition, stored._offset, stored._row_number)
then update set
`status` = if(coalesce(changed._column_sequences['status'], changed._sequence) >= coalesce(stored._column_sequences['status'], stored._sequence), changed.`status`, stored.`status`),
`total` = if(coalesce(changed._column_sequences['total'], changed._sequence) >= coalesce(stored._column_sequences['total'], stored._sequence), changed.`total`, stored.`total`),
`_sequence` = if(changed._sequence >= stored._sequence, changed.`_sequence`, stored.`_sequence`),
`_committed_at` = if(changed._sequence >= stored._sequence, changed.`_committed_at`, stored.`_committed_at`),
`_operation` = if(changed._sequence >= stored._sequence, changed.`_operation`, stored.`_operation`),
`_source_table` = if(changed._sequence >= stored._sequence, changed.`_source_table`, stored.`_source_table`),
`_topic` = if(changed._sequence >= stored._sequence, changed.`_topic`, stored.`_topic`),
`_partition` = if(changed._sequence >= stored._sequence, changed.`_partition`, stored.`_partition`),
`_offset` = if(changed._sequence >= stored._sequence, changed.`_offset`, stored.`_offset`),
`_row_number` = if(changed._sequence >= stored._sequence, changed.`_row_number`, stored.`_row_number`),
`_bronze_version` = if(changed._sequence >= stored._sequence, changed.`_bronze_version`, stored.`_bronze_version`),
`_truncated_table` = if(changed._sequence >= stored._sequence, changed.`_truncated_table`, stored.`_truncated_table`),
`_is_whole` = if(changed._sequence >= stored._sequence, changed.`_is_whole`, stored.`_is_whole`),
`_is_replaced` = if(changed._sequence >= stored._sequence, changed.`_is_replaced`, stored.`_is_replaced`),
`_fingerprint` = if(changed._sequence >= stored._sequence, changed.`_fingerprint`, stored.`_fingerprint`),
_problems = flatten(
    transform(
        cast(array('status', 'total') as array<string>),
        name -> filter(
            if(coalesce(changed._column_sequences[name], changed._sequence) >= coalesce(stored._column_sequences[name], stored._sequence), changed._problems, stored._problems),
            problem -> problem.column = name
        )
    )
),
_column_sequences = get(filter(array(map_filter(map_from_arrays(
                    cast(array('status', 'total') as array<string>),
                    transform(cast(array('status', 'total') as array<string>), name -> greatest(coalesce(changed._column_sequences[name], changed._sequence), coalesce(stored._column_sequences[name], stored._sequence)))
                ), (name, written) -> written < greatest(changed._sequence, stored._sequence))), older -> size(older) > 0), 0)
when matched and (changed._sequence > stored._sequence or exists(cast(array('status', 'total') as array<string>), name -> coalesce(changed._column_sequences[name], changed._sequence) > coalesce(stored._column_sequences[name], stored._sequence)))
then update set
`status` = if(coalesce(changed._column_sequences['status'], changed._sequence) > coalesce(stored._column_sequences['status'], stored._sequence), changed.`status`, stored.`status`),
`total` = if(coalesce(changed._column_sequences['total'], changed._sequence) > coalesce(stored._column_sequences['total'], stored._sequence), changed.`total`, stored.`total`),
`_sequence` = if(changed._sequence > stored._sequence, changed.`_sequence`, stored.`_sequence`),
`_committed_at` = if(changed._sequence > stored._sequence, changed.`_committed_at`, stored.`_committed_at`),
`_operation` = if(changed._sequence > stored._sequence, changed.`_operation`, stored.`_operation`),
`_source_table` = if(changed._sequence > stored._sequence, changed.`_source_table`, stored.`_source_table`),
`_topic` = if(changed._sequence > stored._sequence, changed.`_topic`, stored.`_topic`),
`_partition` = if(changed._sequence > stored._sequence, changed.`_partition`, stored.`_partition`),
`_offset` = if(changed._sequence > stored._sequence, changed.`_offset`, stored.`_offset`),
`_row_number` = if(changed._sequence > stored._sequence, changed.`_row_number`, stored.`_row_number`),
`_bronze_version` = if(changed._sequence > stored._sequence, changed.`_bronze_version`, stored.`_bronze_version`),
`_truncated_table` = if(changed._sequence > stored._sequence, changed.`_truncated_table`, stored.`_truncated_table`),
`_is_whole` = if(changed._sequence > stored._sequence, changed.`_is_whole`, stored.`_is_whole`),
`_is_replaced` = if(changed._sequence > stored._sequence, changed.`_is_replaced`, stored.`_is_replaced`),
`_fingerprint` = if(changed._sequence > stored._sequence, changed.`_fingerprint`, stored.`_fingerprint`),
_problems = flatten(
    transform(
        cast(array('status', 'total') as array<string>),
        name -> filter(
            if(coalesce(changed._column_sequences[name], changed._sequence) > coalesce(stored._column_sequences[name], stored._sequence), changed._problems, stored._problems),
            problem -> problem.column = name
        )
    )
),
_column_sequences = get(filter(array(map_filter(map_from_arrays(
                    cast(array('status', 'total') as array<string>),
                    transform(cast(array('status', 'total') as array<string>), name -> greatest(coalesce(changed._column_sequences[name], changed._sequence), coalesce(stored._column_sequences[name], stored._sequence)))
                ), (name, written) -> written < greatest(changed._sequence, stored._sequence))), older -> size(older) > 0), 0)
when not matched then insert *;
