{#-
    Make the temporary view new_messages: the messages of bronze after version `read`, up to version `last`, each
    identity once. Returns {is_empty, resettles}: whether there are none, and whether some come a second time on purpose
    (reroute, replay).
    The literal list of formats lets the optimizer drop the branches of formats that have nothing new.
-#}
{% macro prepare_new_messages(messages, read, last, target) -%}
    {% do run_query('create or replace temporary view new_deliveries as ' ~ new_deliveries(messages, read, last)) %}
    {%- set profile = run_query(profile_of_new_deliveries()).rows -%}
    {%- set ranges, formats, flags = [], [], {'copies': false, 'resettles': false} -%}
    {%- for topic, partition, first_offset, last_offset, has_copies, has_updates, its_formats in profile -%}
        {% do ranges.append(
            '(topic = ' ~ dbt.string_literal(topic | replace('\\', '\\\\') | replace("'", "\\'")) ~ ' and partition = ' ~ partition
            ~ ' and offset between ' ~ first_offset ~ ' and ' ~ last_offset ~ ')'
        ) %}
        {% do formats.extend(its_formats.split(',')) %}
        {% do flags.update(copies=flags.copies or has_copies, resettles=flags.resettles or has_updates) %}
    {%- endfor -%}
    {%- set known = read is not none and ranges and run_query(
        'select 1 from ' ~ target ~ ' where ' ~ ranges | join(' or ') ~ ' limit 1'
    ).rows | length > 0 -%}
    {% call statement('new_messages') -%}
        create or replace temporary view new_messages as
        select * except (is_update) from new_deliveries
        where format in ({% for format in formats | unique %}'{{ format }}', {% endfor %}'')
        {%- if known %}
            and (
                is_update
                or not exists (
                    select 1 from {{ target }} as settled
                    where
                        ({{ ranges | join(' or ') }})
                        and settled.topic = new_deliveries.topic
                        and settled.partition = new_deliveries.partition
                        and settled.offset = new_deliveries.offset
                )
            )
        {%- endif %}
        {%- if flags.copies %}
        qualify row_number() over (
            partition by topic, partition, offset
            order by is_update desc, if(is_update, -bronze_version, bronze_version), md5(value)
        ) = 1
        {%- endif %}
    {%- endcall %}
    {{ return({'is_empty': not ranges, 'resettles': flags.resettles}) }}
{%- endmacro %}

{#-
    What came with the commits after `read`; everything, where nothing has been read yet. Where the log no longer reaches
    back to `read`, the rows themselves tell their commit, but not whether it brought or changed them.
-#}
{% macro new_deliveries(messages, read, last) -%}
    {%- if read is none -%}
        select *, _metadata.row_commit_version as bronze_version, false as is_update
        from {{ messages }} version as of {{ last }}
    {%- elif adapter.earliest_version(messages) > read + 1 -%}
        select *, _metadata.row_commit_version as bronze_version, true as is_update
        from {{ messages }} version as of {{ last }}
        where _metadata.row_commit_version > {{ read }}
    {%- else -%}
        select * except (_change_type, _commit_version, _commit_timestamp),
            _commit_version as bronze_version, _change_type = 'update_postimage' as is_update
        from table_changes('{{ messages }}', {{ read + 1 }}, {{ last }})
        where _change_type in ('insert', 'update_postimage')
    {%- endif -%}
{%- endmacro %}

{#- Per topic and partition: the range of offsets, whether an identity comes twice, which formats. -#}
{% macro profile_of_new_deliveries() -%}
    select
        topic,
        partition,
        min(offset) as first_offset,
        max(offset) as last_offset,
        count(*) > count(distinct offset) as has_copies,
        bool_or(is_update) as has_updates,
        concat_ws(',', collect_set(format)) as formats
    from new_deliveries
    group by topic, partition
{%- endmacro %}

{#- Give messages that were settled before their new outcome, and the others their first, in one commit. -#}
{% macro resettle_messages(target, sql, columns) -%}
    merge into {{ target }} as settled
    using (
        {{ sql }}
    ) as outcome
    on
        settled.topic = outcome.topic
        and settled.partition = outcome.partition
        and settled.offset = outcome.offset
        and settled.row_number = outcome.row_number
    when matched then update set *
    when not matched then insert *
{%- endmacro %}
