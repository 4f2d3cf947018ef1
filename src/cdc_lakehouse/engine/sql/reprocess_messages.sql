{#-
    Give messages that were processed before their new result, and the others their first, in one commit. What a message was
    before, and is no longer, comes without a kind. A change that keeps its place stays as late as it was.
-#}
{% macro reprocess_messages(target, sql) -%}
    merge into {{ target }} as processed
    using (
        select
            * except (is_late, sequence_before, was_late),
            if(sequence = sequence_before, was_late, is_late) as is_late
        from (
            {{ sql }}
        ) as result
        full outer join (
            select topic, partition, offset, row_number, sequence as sequence_before, is_late as was_late from reprocessed_rows
        ) as before
            using (topic, partition, offset, row_number)
    ) as result
    on
        {{ is_of_message('processed', 'result') }}
        and processed.row_number = result.row_number
    when matched and result.kind is null then delete
    when matched then update set *
    when not matched then insert *
{%- endmacro %}

{#- The source tables of the changes that were processed before. -#}
{% macro source_tables_processed_before() -%}
    select distinct {{ names_of_dropped_table() }}
    from (select *, explode_outer(dropped_tables) as dropped from reprocessed_rows)
    where kind in ('row_change', 'truncate') or dropped is not null or format = 'full_extract'
{%- endmacro %}
