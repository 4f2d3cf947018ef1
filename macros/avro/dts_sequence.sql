{#-
    The order of a DTS record. MySQL's position is offset@file, which sorts wrongly as text; the rows of one binlog event
    share it, and id counts them on. A full load has no position and comes first. Other sources have no position that is
    known to be a number: the commit time and the delivery decide.
-#}
{% macro dts_sequence() -%}
    case
        when record.source_position rlike r'^[0-9]{1,20}@[0-9]{1,20}\z'
            then {{ sequence(["split_part(record.source_position, '@', 2)", "split_part(record.source_position, '@', 1)", 'record.id']) }}
        when record.operation = 'INIT' then {{ sequence(["'0'", "'0'", 'record.id']) }}
        else {{ sequence(['greatest(record.source_timestamp, 0)', 'partition', 'offset']) }}
    end
{%- endmacro %}

{#- When DTS wrote a record: documented in milliseconds, but a real capture has seconds in it. Its size tells. -#}
{% macro born_at() -%}
    if(
        record.born_timestamp < 100000000000,
        {{ epoch_to_timestamp('cast(record.born_timestamp as string)', 'seconds') }},
        {{ epoch_to_timestamp('cast(record.born_timestamp as string)', 'milliseconds') }}
    )
{%- endmacro %}
