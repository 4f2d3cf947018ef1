{#-
    The place of a change in the log of its source, and what tells it from others that share the place: the row (debezium_row), or the
    delivery where the place may be that of several changes of one row.

    A row of a snapshot comes before a change at its place: of its row's hash one digit less is taken.
-#}
{% macro debezium_sequence(source, operation, transaction, produced, row, delivery) -%}
    {%- set hash = "conv(left(md5(" ~ row ~ "), if(" ~ operation ~ " = 'r', 15, 16)), 16, 10)" -%}
    concat_ws(
        '.',
        {{ debezium_place(source, operation, transaction, produced) }},
        if({{ debezium_has_place(source, operation, transaction, row) }}, {{ sequence([hash]) }}, {{ sequence(delivery) }})
    )
{%- endmacro %}

{#-
    The place of a change by what its connector says, as on the page of debezium_json: the position in the log, else a number that its
    source vouches for, else the time. Rows of a snapshot to which a connector with positions gives none come before all changes.

    Changes that were streamed behind a snapshot may have been logged before it: those of transactions that were open. So a row of a
    snapshot takes its commit alone, which is before theirs.
-#}
{% macro debezium_place(source, operation, transaction, produced) -%}
    {%- set of_change = "if(" ~ operation ~ " = 'r', '0', " -%}
    case
        when {{ has_file(source) }} then {{ sequence([binlog_number(source), source ~ '.pos', "coalesce(" ~ source ~ ".row, '0')"]) }}
        when {{ source }}.commit_lsn like '%:%'
            then concat_ws(
                '.', {{ lsn_numbers(source ~ '.commit_lsn') }}, {{ lsn_numbers(source ~ '.change_lsn') }},
                {{ sequence(["coalesce(" ~ source ~ ".event_serial_no, '0')"]) }}
            )
        when {{ source }}.commit_lsn is not null
            then {{ sequence([source ~ '.commit_lsn', of_change ~ "coalesce(" ~ source ~ ".change_lsn, '0'))"]) }}
        when {{ postgres_lsn(source) }} is not null
            then {{ sequence([last_commit_lsn(source), of_change ~ postgres_lsn(source) ~ ")"]) }}
        when {{ source }}.scn is not null
            then {{ sequence([commit_scn(source), of_change ~ source ~ ".scn)", "coalesce(" ~ source ~ ".txseq, '0')"]) }}
        when {{ debezium_gives_places(source) }} then {{ sequence(["'0'"]) }}
        -- TiDB frees a key before it gives it to another row of the transaction.
        when {{ source }}.commit_ts is not null
            then {{ sequence([tso_milliseconds(source ~ '.commit_ts') ~ " || '000000'", source ~ '.commit_ts',
                "case " ~ operation ~ " when 'c' then '2' when 'u' then '1' else '0' end"]) }}
        -- Vitess: beyond every time, for the ranks can be switched on later.
        when {{ transaction }}.transaction_rank is not null
            then '1' || lpad({{ transaction }}.transaction_epoch, 19, '0') || '.'
                || {{ sequence([transaction ~ '.transaction_rank', "coalesce(" ~ transaction ~ ".total_order, '0')"]) }}
        else {{ sequence([debezium_nanoseconds(source, produced), debezium_ordinal(source)]) }}
    end
{%- endmacro %}

{#- Whether the place and the row of a message tell its change from all others. -#}
{% macro debezium_has_place(source, operation, transaction, row) -%}
    {{ row }} is not null
    and (
        {{ has_file(source) }}
        or coalesce({{ source }}.commit_lsn, {{ postgres_lsn(source) }}, {{ source }}.commit_ts, {{ transaction }}.transaction_rank) is not null
        or ({{ source }}.scn is not null and ({{ source }}.txseq is not null or {{ operation }} = 'r'))
    )
{%- endmacro %}

{#-
    What tells the row of a message from others, as bytes: its values of the route's key, else the key of the message; null if it has
    none.
-#}
{% macro debezium_row(route_key, image, message_key) -%}
    case
        when {{ route_key }} is not null and {{ image }} is not null
            then cast(to_json(transform({{ route_key }}, name -> {{ image }}[name])) as binary)
        when not {{ is_wrapped_null(message_key) }} then {{ message_key }}
    end
{%- endmacro %}
