{#-
    The places in the source that changes with different content share, of those changes in `events` of which a condition holds. It
    reads their `kind`, `operation`, `format`, `database_name`, `schema_name`, `table_name`, `sequence`, `before` and `after`, and
    their `topic`, `partition`, `offset` and `row_number`.
-#}
{% macro conflicts_among(events, which) -%}
    with changes as (
        select
            *,
            xxhash64(format, database_name, schema_name, table_name, sequence) as place
        from {{ events }}
        where kind in ('row_change', 'truncate') and ({{ which }})
    ),
    -- Two places may have the same number: changes that share no place are then compared as well, and are found to differ.
    shared_places as (
        select place from changes
        group by place
        having count(*) > 1
    ),
    -- The two messages of one update share its place in the source.
    compared as (
        select
            *,
            if(operation in ('update_before', 'update_after'), operation, 'change') as part,
            xxhash64(kind, operation, map_entries(before), map_entries(after)) as content
        from changes
        where place in (select place from shared_places)
    )
    select
        format,
        database_name,
        schema_name,
        table_name,
        sequence,
        count(*) as deliveries,
        count(distinct content) as contents,
        min(struct(topic, partition, offset, row_number)) as first_delivery,
        max(struct(topic, partition, offset, row_number)) as last_delivery
    from compared
    group by format, database_name, schema_name, table_name, sequence, part
    having count(distinct content) > 1
{%- endmacro %}
