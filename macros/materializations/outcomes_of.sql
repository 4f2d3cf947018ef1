{#-
    The union of the formats' models and of what has no model. A run leaves out the formats that have nothing new: Spark
    takes seconds to plan each of them, though there is nothing to read.
-#}
{% macro outcomes_of(formats) -%}
    {%- set wanted = formats_to_settle(formats) -%}
    {%- for format in formats if format in wanted -%}
    select * from {{ ref(format) }}
    union all
    {% endfor -%}
    select * from {{ ref('unrouted') }}
{%- endmacro %}

{% macro formats_to_settle(formats) -%}
    {%- if not execute or flags.WHICH not in ('run', 'build') -%}
        {{ return(formats) }}
    {%- endif -%}
    {%- set window = adapter.take_note(model.unique_id) or window_to_settle() -%}
    {% do adapter.leave_note(model.unique_id, window) %}
    {{ return(window.formats) }}
{%- endmacro %}

{#-
    What a run of a change log reads: the commits of bronze after `read`, up to `last`, and per topic and partition what
    is in them. The compilation of the model asks first; its materialization has to work on the same.
-#}
{% macro window_to_settle() -%}
    {%- set messages = api.Relation.create(schema='bronze', identifier='messages') -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set exists = load_cached_relation(this) is not none or adapter.adopt(target) -%}
    {%- set rebuild = exists and (should_full_refresh() or has_changed_columns(target, model.columns.values() | list)) -%}
    {%- set read = adapter.watermark(target, 'bronze.messages') if exists and not rebuild else none -%}
    {%- set last = adapter.delta_version(messages) -%}
    {%- set window = {'messages': messages, 'read': read, 'last': last, 'exists': exists, 'rebuild': rebuild, 'profile': [], 'formats': []} -%}
    {%- if read is none or read < last -%}
        {% do run_query('create or replace temporary view new_deliveries as ' ~ new_deliveries(messages, read, last)) %}
        {% do window.update(profile=run_query(profile_of_new_deliveries()).rows) %}
        {%- for row in window.profile -%}
            {% do window.formats.extend(row['formats'].split(',')) %}
        {%- endfor -%}
    {%- endif -%}
    {{ return(window) }}
{%- endmacro %}
