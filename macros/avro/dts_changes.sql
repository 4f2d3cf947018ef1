{#-
    `avro_changes` of records that DTS wrote, with their order and the time at which DTS wrote them. Needs the columns that
    `avro_changes` needs, partition and offset. The document says that bornTimestamp is in milliseconds, but a real capture has
    seconds: the size of the number tells which. MySQL's position is offset@file, which sorts wrongly as text; the rows of one
    binlog event share it, and id numbers them. A full load has no position and comes first. The positions of other sources are not
    known to be numbers: there the commit time and the delivery decide.
-#}
{% macro dts_changes(rows) -%}
select
    *,
    if(
        record.born_timestamp < 100000000000,
        {{ epoch_to_timestamp('cast(record.born_timestamp as string)', 'seconds') }},
        {{ epoch_to_timestamp('cast(record.born_timestamp as string)', 'milliseconds') }}
    ) as produced_at,
    case
        when record.source_position rlike r'^[0-9]{1,20}@[0-9]{1,20}\z'
            then {{ sequence(["split_part(record.source_position, '@', 2)", "split_part(record.source_position, '@', 1)", 'record.id']) }}
        when record.operation = 'INIT' then {{ sequence(["'0'", "'0'", 'record.id']) }}
        else {{ sequence(['greatest(record.source_timestamp, 0)', 'partition', 'offset']) }}
    end as sequence
from ({{ avro_changes(rows) }})
{%- endmacro %}
