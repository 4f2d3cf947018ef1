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
xxhash64(_operation, map_entries(_image)) as _fingerprint, _known_at
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

-- stages touched_changes
select latest.* except (_known_at), _known_at
from (
    select max_by(struct(*), struct(_is_stored, _partition, _offset)) as latest, min(_known_at) as _known_at
    from (
        select `id`, `status`, `total`, `_sequence`, `_committed_at`, `_operation`, `_problems`, `_source_table`, `_topic`, `_partition`, `_offset`, `_row_number`, `_bronze_version`, `_truncated_table`, `_column_sequences`, `_is_whole`, `_is_replaced`, `_fingerprint`, `_known_at`, false as _is_stored, null as _stored
        from (
            select * from new_changes
        )
        where _truncated_table is not null or (`id` is not null)
        union all
        select
        `id`, `status`, `total`, `_sequence`, `_committed_at`, `_operation`, `_problems`, `_source_table`, `_topic`, `_partition`, `_offset`, `_row_number`, `_bronze_version`, `_truncated_table`, `_column_sequences`, `_is_whole`, `_is_replaced`, `_fingerprint`, `_known_at`,
        true,
        struct(valid_from, valid_to, is_current, _is_version)
        from gold_storage.things as stored
        where ((stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint)) or stored._truncated_table is not null) and (stored._truncated_table is not null or exists (select 1 from new_changes where stored.`id` <=> new_changes.`id`))
    )
    group by `id`, _truncated_table, _sequence, _fingerprint
);

-- stages changed_rows
with _changes as (
    select * from touched_changes
),
-- The row before of a pair removes nothing where the row after has the same key.
marked as (
    select
    *,
    _is_replaced and not bool_and(_is_replaced) over (
        partition by `id`, _truncated_table, _sequence
    ) as _is_overruled
    from _changes
),
changed as (
    select * from marked
    where not _is_overruled
),
whole as (
    select * from changed
),
_truncates as (
    select
    _truncated_table as _table_of_truncates,
    -- How the sequences of the rows of an extract begin: it ends no version that one of them carries on.
    sort_array(
        collect_list(
            struct(
                _sequence,
                _committed_at,
                if(_operation = 'extract', left(_sequence, length(_sequence) - 1), null) as _rows
            )
        )
    ) as _truncates
    from changed
    where _truncated_table is not null and _operation in ('truncate', 'extract')
    group by _truncated_table
),
timed as (
    select
    changes.*,
    max(_committed_at) over history_so_far as _effective_at,
    lead(_sequence) over history as _next_sequence,
    _truncates
    from whole as changes
    left join _truncates
    on _source_table = _table_of_truncates
    where _truncated_table is null
    window history as (partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number),
    history_so_far as (
        partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number
        rows between unbounded preceding and current row
    )
),
emptied as (
    select
    *,
    get(
        filter(
            _truncates,
            _truncate -> _sequence <= _truncate._sequence
            and not coalesce(startswith(_next_sequence, _truncate._rows), false)
        ),
        0
    ) as _truncate
    from timed
),
ended as (
    select
    *,
    coalesce(_truncate._sequence < _next_sequence, _truncate is not null) as _is_truncated,
    lead(_effective_at) over history as _next_effective_at,
    struct(filter(_problems, problem -> array_contains(cast(array('status', 'total') as array<string>), problem.column)), `status`, `total`) as _content
    from emptied
    window history as (partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number),
    history_so_far as (
        partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number
        rows between unbounded preceding and current row
    )
),
begun as (
    select
    *,
    _operation <> 'delete' and not coalesce(
        lag(_operation <> 'delete' and not _is_truncated) over history and lag(_content) over history <=> _content,
        false
    ) as _is_begin
    from ended
    window history as (partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number),
    history_so_far as (
        partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number
        rows between unbounded preceding and current row
    )
),
versions as (
    select
    *,
    if(_operation <> 'delete', max(if(_is_begin, _effective_at, null)) over history_so_far, null) as valid_from,
    case
    when _operation = 'delete' then null
    when _is_truncated then least(_next_effective_at, greatest(_effective_at, _truncate._committed_at))
    else _next_effective_at
    end as valid_to,
    _operation <> 'delete' and _next_sequence is null and not _is_truncated as is_current,
    _operation <> 'delete' and (
        _next_sequence is null or _is_truncated or lead(_operation = 'delete' or _is_begin) over history
    ) as _is_version
    from begun
    window history as (partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number),
    history_so_far as (
        partition by `id` order by _sequence, not _is_replaced, _partition, _offset, _row_number
        rows between unbounded preceding and current row
    )
)
select `id`, `status`, `total`, `valid_from`, `valid_to`, `is_current`, `_sequence`, `_committed_at`, `_operation`, `_problems`, `_source_table`, `_topic`, `_partition`, `_offset`, `_row_number`, `_bronze_version`, `_is_version`, `_truncated_table`, `_column_sequences`, `_is_whole`, `_is_replaced`, `_fingerprint`, `_known_at`
from (
    select `id`, `status`, `total`, `valid_from`, `valid_to`, `is_current`, `_sequence`, `_committed_at`, `_operation`, `_problems`, `_source_table`, `_topic`, `_partition`, `_offset`, `_row_number`, `_bronze_version`, `_is_version`, `_truncated_table`, `_column_sequences`, `_is_whole`, `_is_replaced`, `_fingerprint`, `_known_at`, _is_stored, _stored from versions
    union all
    select
    `id` as `id`,
    `status` as `status`,
    `total` as `total`,
    cast(null as timestamp) as `valid_from`,
    cast(null as timestamp) as `valid_to`,
    cast(null as boolean) as `is_current`,
    `_sequence` as `_sequence`,
    `_committed_at` as `_committed_at`,
    _operation as `_operation`,
    `_problems` as `_problems`,
    `_source_table` as `_source_table`,
    `_topic` as `_topic`,
    `_partition` as `_partition`,
    `_offset` as `_offset`,
    `_row_number` as `_row_number`,
    `_bronze_version` as `_bronze_version`,
    cast(null as boolean) as `_is_version`,
    `_truncated_table` as `_truncated_table`,
    `_column_sequences` as `_column_sequences`,
    `_is_whole` as `_is_whole`,
    `_is_replaced` as `_is_replaced`,
    `_fingerprint` as `_fingerprint`,
    `_known_at` as `_known_at`,
    _is_stored,
    _stored
    from changed
    where _truncated_table is not null
)
where not _is_stored or not _stored <=> struct(valid_from, valid_to, is_current, _is_version);

-- commits, with silver.events read to 7
merge into gold_storage.things as stored
using changed_rows as changed
on stored.`id` <=> changed.`id` and stored._truncated_table <=> changed._truncated_table
and if(stored._truncated_table is null, null, stored._operation) <=> if(changed._truncated_table is null, null, changed._operation)
and stored._sequence = changed._sequence and stored._fingerprint = changed._fingerprint and (stored.`id` = cast('7' as bigint) or stored.`id` = cast('8' as bigint) or stored.`id` = cast('9' as bigint))
when matched then update set *
when not matched then insert *;
