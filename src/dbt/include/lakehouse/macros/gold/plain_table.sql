{#-
    Where the option plain_table is on, keep gold_plain.<name>: the rows that the model shows, as a table that every Delta reader
    takes. It follows the stored table by a commit of its own; if a run ends between the two, the next one writes it whole.
-#}
{% macro keep_plain_table(table, profile) -%}
    {%- set plain = api.Relation.create(schema=this.schema ~ '_plain', identifier=this.identifier, type='table') -%}
    {%- if table.is_part -%}
        {{ return('') }}
    {%- elif not table.has_plain_table -%}
        {%- if adapter.has_plain_table(plain) -%}
            {% do log(plain ~ ' is dropped: the option plain_table is off', info=true) %}
            {% do adapter.remove_table(plain) %}
        {%- endif -%}
        {{ return('') }}
    {%- endif -%}
    {%- set step = adapter.step_of_plain_table(plain, table.storage, table.read, profile) -%}
    {%- if step == 'remake' -%}
        {% do adapter.remove_table(plain) %}
    {%- endif -%}
    {%- if step in ['replace', 'remake'] -%}
        {% do adapter.create_schema(plain) %}
        {% do adapter.expect_new_rows(table.storage, none) %}
        {% do adapter.write_plain_table(replace_plain_table(plain, table), table.storage) %}
    {%- elif step == 'merge' -%}
        {{ stage_rows('plain_rows', rows_of_touched_keys(table, profile)) }}
        {% do adapter.write_plain_table(merge_plain_rows(plain, table, profile), table.storage, is_staged=true) %}
    {%- elif step == 'mark' -%}
        {% do adapter.write_plain_table(commit_watermark_only(plain), table.storage) %}
    {%- endif -%}
{%- endmacro %}

{#- Deletion vectors, clustering and the like are features that a reader may not have. -#}
{% macro replace_plain_table(plain, table) -%}
    create or replace table {{ plain }}
    using delta
    {{ table_settings({'delta.enableDeletionVectors': 'false', 'cdc_lakehouse.kind': 'plain_table'}) }}
    as select * from {{ table.view }}
{%- endmacro %}

{#-
    For each key that this run has merged, all rows that the model shows of it now, and one row without content (`_is_gone`) for
    those that it showed before.
-#}
{% macro rows_of_touched_keys(table, profile) -%}
    with touched as (
        select distinct {{ key_names(table.key) }} from changed_rows where _truncated_table is null
    )
    select _shown.*, _touched_key, _shown is null as _is_gone
    from (
        select struct(stored.*) as _shown, struct({{ key_names(table.key, 'stored.') }}) as _touched_key
        from {{ table.view }} as stored
        left semi join touched
            on {{ has_key_of('touched', table.key) }}
        where {{ where_touched_keys_are(table, profile) }}
        union all
        select null, struct({{ key_names(table.key) }}) from touched
    )
{%- endmacro %}

{#- Take away what the table has of the touched keys and write what they have now, in one commit. -#}
{% macro merge_plain_rows(plain, table, profile) -%}
    merge into {{ plain }} as stored
    using plain_rows as changed
    on changed._is_gone
        and {{ has_key_of('changed._touched_key', table.key) }}
        and {{ where_touched_keys_are(table, profile) }}
    when matched then delete
    when not matched and not changed._is_gone then insert *
{%- endmacro %}

{#- Where the touched keys can be, by file statistics; tombstones that a run forgets may be anywhere. -#}
{% macro where_touched_keys_are(table, profile) -%}
    {{ 'true' if table.options.get('tombstone_retention') is not none else '(' ~ profile['keys'] ~ ')' }}
{%- endmacro %}
