{#-
    The place of a change in the log of its source, by what its connector says: a file, a position and a row (MySQL); the last commit
    before the change and its own log sequence number (PostgreSQL), of its commit and its own (SQL Server); an SCN (Oracle), which
    changes of a row share unless they have a number in it. Of a connector that gives none, the time and the delivery decide; rows of
    a snapshot to which another gives none come before all changes.

    Changes of several rows may have one place: those of a snapshot, of a COPY, and the two of a row that gets another key. The key of
    the message tells them apart; without one the delivery does.
-#}
{% macro debezium_sequence(source, produced, key, delivery) -%}
    {%- set row = "conv(left(md5(" ~ key ~ "), 16), 16, 10)" -%}
    concat_ws(
        '.',
        case
            when {{ source }}.file is not null
                then {{ sequence([binlog_number(source), source ~ '.pos', "coalesce(" ~ source ~ ".row, '0')"]) }}
            when {{ source }}.lsn is not null then {{ sequence([last_commit_lsn(source), source ~ '.lsn']) }}
            when {{ source }}.commit_lsn is not null
                then concat_ws(
                    '.', {{ lsn_numbers(source ~ '.commit_lsn') }}, {{ lsn_numbers(source ~ '.change_lsn') }},
                    {{ sequence(["coalesce(" ~ source ~ ".event_serial_no, '0')"]) }}
                )
            when {{ source }}.scn is not null then {{ sequence([source ~ '.scn', "coalesce(" ~ source ~ ".txseq, '0')"]) }}
            when {{ debezium_gives_places(source) }} then {{ sequence(["'0'"]) }}
            else {{ sequence(["coalesce(" ~ source ~ ".ts_ms, " ~ produced ~ ", '0')"]) }}
        end,
        if({{ debezium_has_place(source, key) }}, {{ sequence([row]) }}, {{ sequence(delivery) }})
    )
{%- endmacro %}

{#- Whether the connector of a message is one that gives each change its place in the log of its source. -#}
{% macro debezium_gives_places(source) -%}
    {{ source }}.connector in ('mysql', 'mariadb', 'postgresql', 'sqlserver', 'oracle')
{%- endmacro %}

{#- Whether the place and the key of a message tell its change from all others. -#}
{% macro debezium_has_place(source, key) -%}
    {{ key }} is not null
    and coalesce({{ source }}.file, {{ source }}.lsn, {{ source }}.commit_lsn, if({{ source }}.scn is not null, {{ source }}.txseq, null)) is not null
{%- endmacro %}

{#-
    The log sequence number of PostgreSQL's last commit before a change; transactions that ran side by side come in the order of
    their commits. A snapshot has none, nor has Debezium before 1.7: then all that came before is before the change itself.
-#}
{% macro last_commit_lsn(source) -%}
    coalesce(get_json_object({{ source }}.sequence, '$[0]'), {{ source }}.lsn)
{%- endmacro %}

{#- The number of a binary log out of its name, `mysql-bin.000003`; the name itself where it has none. -#}
{% macro binlog_number(source) -%}
    regexp_replace({{ source }}.file, r'^.*?([0-9]+)\z', '$1')
{%- endmacro %}

{#- The three numbers of an LSN of SQL Server, `00000027:00000ac0:0002` in hexadecimal digits; zeros without an LSN. -#}
{% macro lsn_numbers(lsn) -%}
    {%- set parts = "split_part(coalesce(" ~ lsn ~ ", '0:0:0'), ':', " -%}
    {{ sequence(["conv(left(" ~ parts ~ "1), 8), 16, 10)", "conv(left(" ~ parts ~ "2), 8), 16, 10)", "conv(left(" ~ parts ~ "3), 8), 16, 10)"]) }}
{%- endmacro %}
