{#-
    A view of what a table comes to that only grows. It keeps, in a table beside it, what it has summed up of the most of the
    rows, and reads the others: `kept_rows` and those after `last_kept`. Once they are many, a run keeps what the view shows.
-#}
{% materialization summary, adapter='lakehouse' %}

    {%- set source = ref(model.refs[0].name) if model.refs else source(*model.sources[0]) -%}
    {%- set is_new = adapter.views.is_to_be_made(load_cached_relation(this), sql, should_full_refresh()) -%}
    {% do adapter.summaries.prepare(this, sql, model.columns.values() | list, is_new) %}
    {{ keep_view(is_new) }}
    {% do adapter.summaries.keep(this, source, sql, model.columns | list, config.get('keeps_after_bytes')) %}

    {{ return({'relations': [this.incorporate(type='view')]}) }}

{% endmaterialization %}

{#- The table of what a summary keeps, with the columns that its YAML names. -#}
{% macro kept_rows() -%}
    {{ adapter.summaries.kept_by(this) }}
{%- endmacro %}

{#- The greatest value of a column that grows with the source's rows, of the rows that a summary keeps; -1 if it keeps none. -#}
{% macro last_kept(column) -%}
    {{ '(select coalesce(max(' ~ column ~ '), -1) from ' ~ kept_rows() ~ ')' }}
{%- endmacro %}
