{#-
    Of typed changes the last of each key, in the order of the source; where some are partial, of each column of each key. Of one
    change of a key to and fro the new row wins; of changes that differ and share a sequence, the one delivered last.
    A table has a marker of its last TRUNCATE and one of its last DROP.
-#}
{% macro latest_rows(changes, model, found) -%}
    select
        {{ model.parts.latest_row if found.is_partial else '_row.*' }}
        {{- ', _row._is_followed as _is_followed' if found.follows_keys }}
    from (
        select
            {{ model.parts.latest_values if found.is_partial -}}
            max_by(struct(changed.*), {{ model.parts.order }}) as _row
        from (
            {{ changes }}
        ) as changed
        where _truncated_table is not null or ({{ model.key.is_known }})
        group by {{ model.key.names() }}, _truncated_table, if(_truncated_table is null, null, _operation)
    )
{%- endmacro %}
