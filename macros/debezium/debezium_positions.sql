{#- Whether the connector of a message is one that gives each change its position in the log of its source. -#}
{% macro debezium_gives_places(source) -%}
    {{ source }}.connector in ('mysql', 'mariadb', 'postgresql', 'sqlserver', 'db2', 'informix', 'oracle')
{%- endmacro %}

{#- Whether a message has the position of its change in the log of its source. -#}
{% macro debezium_has_position(source) -%}
    ({{ has_file(source) }} or coalesce({{ source }}.commit_lsn, {{ source }}.lsn, {{ source }}.scn) is not null)
{%- endmacro %}

{#- The member of `source` in which a connector gives the position. -#}
{% macro debezium_position_member(source) -%}
    case {{ source }}.connector
        when 'postgresql' then 'lsn' when 'oracle' then 'scn' when 'mysql' then 'file' when 'mariadb' then 'file' else 'commit_lsn'
    end
{%- endmacro %}

{#- Whether a message names a binary log. Flink's snapshots and TiDB name it by an empty text. -#}
{% macro has_file(source) -%}
    coalesce({{ source }}.file <> '', false)
{%- endmacro %}

{#- The number of a binary log out of its name, `mysql-bin.000003`; the name itself where it has none. -#}
{% macro binlog_number(source) -%}
    regexp_replace(nullif({{ source }}.file, ''), r'^.*?([0-9]+)\z', '$1')
{%- endmacro %}

{#-
    The log sequence number of a change of PostgreSQL; the rows of its incremental snapshots have it in `sequence` alone. YugabyteDB
    has another thing in the member.
-#}
{% macro postgres_lsn(source) -%}
    if({{ source }}.connector = 'yugabytedb', null, coalesce({{ source }}.lsn, {{ number_of_sequence(source, 2) }}))
{%- endmacro %}

{#-
    The log sequence number of PostgreSQL's last commit before a change; transactions that ran side by side come in the order of
    their commits. A first snapshot has none, nor has the first transaction behind it, nor Debezium before 1.7: then all that came
    before is before the change itself.
-#}
{% macro last_commit_lsn(source) -%}
    coalesce({{ number_of_sequence(source, 1) }}, {{ postgres_lsn(source) }})
{%- endmacro %}

{#- The first or the second number in PostgreSQL's `sequence`, `["24023119","24023128"]`; null for null and where it is no such list. -#}
{% macro number_of_sequence(source, index) -%}
    nullif(nullif(regexp_extract({{ source }}.sequence, {{ postgres_sequence() }}, {{ index }}), 'null'), '')
{%- endmacro %}

{#- A `sequence` of PostgreSQL as a regular expression, with a group for each of the two. -#}
{% macro postgres_sequence() -%}
    r'^\[ *"?(null|[0-9]{1,20})"? *, *"?(null|[0-9]{1,20})"? *\]\z'
{%- endmacro %}

{#- The three numbers of an LSN of SQL Server or Db2, `00000027:00000ac0:0002` in hexadecimal digits; zeros without an LSN. -#}
{% macro lsn_numbers(lsn) -%}
    {%- set parts = "split_part(coalesce(" ~ lsn ~ ", '0:0:0'), ':', " -%}
    {{ sequence(["conv(left(" ~ parts ~ "1), 8), 16, 10)", "conv(left(" ~ parts ~ "2), 8), 16, 10)", "conv(left(" ~ parts ~ "3), 16), 16, 10)"]) }}
{%- endmacro %}

{#-
    The SCN of the commit of a change of Oracle. Snapshots have none, nor has OpenLogReplicator, and of a cluster it may be a list: the
    SCN of the change in its place leaves the changes of a row in order, for each waited for the commit of the one before it.
-#}
{% macro commit_scn(source) -%}
    if({{ source }}.commit_scn rlike r'^[0-9]{1,20}\z', {{ source }}.commit_scn, {{ source }}.scn)
{%- endmacro %}

{#- The time of a change in nanoseconds since 1970, as exactly as its connector says it, as digits. -#}
{% macro debezium_nanoseconds(source, produced) -%}
    coalesce({{ source }}.ts_ns, {{ source }}.ts_us || '000', {{ source }}.ts_ms || '000000', {{ produced }} || '000000', '0')
{%- endmacro %}

{#- The number of a change among those of one time: YugabyteDB's hybrid time, the record's number of Spanner and of IBM i; else 0. -#}
{% macro debezium_ordinal(source) -%}
    coalesce({{ source }}.commit_time, if({{ source }}.sequence rlike r'^[0-9]{1,20}\z', {{ source }}.sequence, null), '0')
{%- endmacro %}
