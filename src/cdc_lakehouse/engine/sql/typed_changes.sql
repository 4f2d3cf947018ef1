{#-
    Changes with every value that does not fit its column null and named in `_problems`; a deleted row keeps its key only.
    `_column_sequences` holds the columns that are older than the row: here those that a partial image does not carry.
-#}
{% macro typed_changes(changes, model) -%}
    select
        {{ model.typed_values }},
        {{ model.problems }} as _problems,
        {{ model.change }},
        if(_operation in ('truncate', 'extract'), _source_table, null) as _truncated_table,
        case when {{ model.is_partial }} then {{ model.columns_not_carried }} end as _column_sequences,
        _is_whole,
        _is_replaced,
        xxhash64(_operation, map_entries(_image)) as _fingerprint
        {{- ', _known_at' if model.is_history }}
    from (
        {{ with_unfit_values(changes, model.typing) }}
    )
{%- endmacro %}

{#- The rows of a model's query with the values that do not fit, `_unfit`: in steps, for each is asked several times. -#}
{% macro with_unfit_values(rows, typing) -%}
    select
        *,
        {{ typing.unfit }} as _unfit
    from (
        {{ with_doubts(rows, typing) if typing.doubted else rows }}
    )
{%- endmacro %}

{% macro with_doubts(rows, typing) -%}
    select
        *,
        {{ typing.doubts }}
    from (
        {{ rows }}
    )
{%- endmacro %}

{#-
    Typed changes where some are partial. Where the format names no key, any update says that its old row is gone; if the new
    row has the same key, nothing went.
-#}
{% macro partial_changes(changes, model) -%}
    select
        * except (_column_sequences, _removed_key, _new_key),
        {{ model.columns_left_alone }} as _column_sequences
    from (
        {{ with_keys_of_messages(changes, model) }}
    )
    where not {{ model.is_before_of_its_row }}
{%- endmacro %}
