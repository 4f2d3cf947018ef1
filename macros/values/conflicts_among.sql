{#- The places in the source that changes with different content share, of those changes that meet a condition. -#}
{% macro conflicts_among(condition) -%}
    with changes as (
        select
            *,
            xxhash64(format, database_name, schema_name, table_name, sequence) as place
        from {{ ref('events') }}
        where kind in ('row_change', 'truncate') and ({{ condition }})
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
            changes.*,
            if(operation in ('update_before', 'update_after'), operation, 'change') as part,
            xxhash64(kind, operation, map_entries(before), map_entries(after)) as content
        from changes
        left semi join shared_places on changes.place = shared_places.place
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
