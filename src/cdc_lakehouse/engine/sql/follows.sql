{#- The values of a gold table's rows, before and after each change that a mart has not read. -#}
{% macro touched_values(followed, reading) -%}
    select distinct {{ followed.values }}
    from {{ reading.changes if reading.kind == 'changes' else reading.rows_as_they_are }}
{%- endmacro %}

{#-
    The keys of a mart that changes touch: of rows that are stored, and of those that its query has now, each once. `changed` are the
    gold tables with changes, each with its touched values.
-#}
{% macro touched_keys(mart, changed, query) -%}
    {%- for followed in changed %}
    {%- set touched = followed.touched %}
    {%- if mart.has_key(followed) %}
    select {{ mart.key_columns }} from {{ touched }}
    {%- else %}
    select {{ mart.key_columns }} from {{ mart.relation }} as mart left semi join {{ touched }} as touched on {{ followed.touches('mart') }}
    union
    select {{ mart.key_columns }} from {{ query }} as mart left semi join {{ touched }} as touched on {{ followed.touches('mart') }}
    {%- endif %}
    {{- '\n    union' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{#- The touched keys, each with the row that the query has of it now, as one value: null if it has none. -#}
{% macro changes_of_mart(mart, query) -%}
    {%- set is_touched = mart.is_same_row('mart', 'touched_keys') -%}
    {%- set touched_rows = query ~ ' as mart left semi join touched_keys on ' ~ is_touched -%}
    select
        struct({{ mart.key_of('touched_keys') }}) as _key,
        mart._row
    from touched_keys
    left join (
        select {{ mart.key_columns }}, struct(*) as _row
        from (
            {{ rows_of_one_key(mart, touched_rows) }}
        )
    ) as mart on {{ is_touched }}
{%- endmacro %}

{#- Rows, or an error that names a key that several of them have: it would take one of them in silence. -#}
{% macro rows_of_one_key(mart, rows) -%}
    select * except (_rows_of_key)
    from (
        select *, count(*) over (partition by {{ mart.key_columns }}) as _rows_of_key
        from {{ rows }}
    )
    where if(
        _rows_of_key = 1,
        true,
        raise_error(concat({{ mart.said_of_two_rows | quoted }}, to_json(struct({{ mart.key_columns }}))))
    )
{%- endmacro %}

{#- The statement that writes the touched rows: a key without a row is deleted. -#}
{% macro merge_changes_of_mart(mart, columns) -%}
    merge into {{ mart.relation }} as stored
    using mart_changes as new
    on {{ mart.is_same_row('stored', 'new._key') }}
    when matched and new._row is null then delete
    when matched then update set {{ mart.listed(columns, '{0} = new._row.{0}') }}
    when not matched and new._row is not null then
        insert ({{ mart.listed(columns, '{0}') }})
        values ({{ mart.listed(columns, 'new._row.{0}') }})
{%- endmacro %}

{#- The statement that computes all rows; readers see the old ones or the new ones. -#}
{% macro replace_mart(mart, query) -%}
    create or replace table {{ mart.relation }}
    using delta
    {{ mart.clauses }}
    as {{ rows_of_one_key(mart, query) }}
{%- endmacro %}

{#- The statement that only notes how far a mart has read. -#}
{% macro commit_only_mart(mart) -%}
    update {{ mart.relation }} set {{ mart.listed(mart.key[:1], '{0} = {0}') }} where false
{%- endmacro %}
