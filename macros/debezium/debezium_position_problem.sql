{#- Why a message has no position of its connector, or a part of it is none: struct<code, detail>, null if all is well. -#}
{% macro debezium_position_problem(source, operation, transaction) -%}
    coalesce(
        case
            when {{ operation }} in ('c', 'u', 'd', 't') and {{ debezium_gives_places(source) }} and not {{ debezium_has_position(source) }}
                then {{ problem(
                    'wrong_type',
                    operation ~ " || ' without a position: source of ' || " ~ source ~ ".connector || ' has no '
                    || " ~ debezium_position_member(source)
                ) }}
        end,
        {{ position_problem('source.file', binlog_number(source)) }},
        {{ position_problem('source.pos', source ~ '.pos') }},
        {{ position_problem('source.row', source ~ '.row') }},
        if({{ source }}.connector = 'yugabytedb', null, {{ position_problem('source.lsn', source ~ '.lsn') }}),
        case
            when {{ source }}.connector = 'postgresql' and not {{ source }}.sequence rlike {{ postgres_sequence() }}
                then {{ problem('wrong_type', "'source.sequence is ' || " ~ source ~ ".sequence") }}
        end,
        {{ position_problem('source.scn', source ~ '.scn') }},
        {{ position_problem('source.txSeq', source ~ '.txseq') }},
        {{ position_problem('source.event_serial_no', source ~ '.event_serial_no') }},
        {{ lsn_problem('source.commit_lsn', source ~ '.commit_lsn', source) }},
        {{ lsn_problem('source.change_lsn', source ~ '.change_lsn', source) }},
        {{ tso_problem('source.commit_ts', source ~ '.commit_ts') }},
        {{ position_problem('source.commit_time', source ~ '.commit_time') }},
        {{ position_problem('source.ts_ns', source ~ '.ts_ns') }},
        {{ position_problem('source.ts_us', source ~ '.ts_us') }},
        {{ position_problem('transaction.transaction_rank', transaction ~ '.transaction_rank') }},
        {{ position_problem('transaction.transaction_epoch', transaction ~ '.transaction_epoch') }}
    )
{%- endmacro %}

{#-
    Why a field is not an LSN of its connector: struct<code, detail>, null if it is one or is missing. Informix counts; SQL Server and
    Db2 write bytes in hexadecimal digits, of which Db2 has sixteen since version 11.
-#}
{% macro lsn_problem(field, lsn, source) -%}
    case
        when {{ source }}.connector = 'informix' then {{ position_problem(field, lsn) }}
        when {{ lsn }} is not null and not {{ lsn }} rlike r'^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}([0-9A-Fa-f]{12})?\z'
            then {{ problem('wrong_type', "'" ~ field ~ " is ' || " ~ lsn) }}
    end
{%- endmacro %}
