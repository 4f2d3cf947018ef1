{#-
    The union of the formats' models and of what has no model, column by column as the contract names them: a union goes by the
    place of a column, and two of one type could change places unseen. A run leaves out the formats that have nothing new:
    Spark takes seconds to plan each of them, though there is nothing to read.
-#}
{% macro outcomes_of(formats) -%}
    {%- set wanted = formats_to_settle(formats) -%}
    {%- for format in formats if format in wanted -%}
    select {{ columns_of_outcomes(format) }} from {{ ref(format) }} as {{ format }}
    union all
    {% endfor -%}
    select {{ columns_of_outcomes('unrouted') }} from {{ ref('unrouted') }} as unrouted
{%- endmacro %}

{#- The columns of the contract, each behind the model's name, so that an error says which model lacks which. -#}
{% macro columns_of_outcomes(model_name) -%}
    {%- for name in model.columns if name not in ('is_late', 'loaded_at') %}{{ model_name }}.{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% else %}*{% endfor -%}
{%- endmacro %}

{% macro formats_to_settle(formats) -%}
    {%- if execute and flags.WHICH == 'show' -%}
        {{ return(run_query('select distinct format from bronze.messages').columns['format'].values() | list) }}
    {%- elif not execute or flags.WHICH not in ('run', 'build') -%}
        {{ return(formats) }}
    {%- endif -%}
    {%- set window = adapter.take_note(model.unique_id) or window_to_settle() -%}
    {% do adapter.leave_note(model.unique_id, window) %}
    {{ return(window.formats) }}
{%- endmacro %}

{#-
    What a run of a change log reads: the commits of bronze after `read`, up to `last`, and per topic, partition and format what
    is in them. The compilation of the model asks first; its materialization has to work on the same.
-#}
{% macro window_to_settle() -%}
    {%- set messages = api.Relation.create(schema='bronze', identifier='messages') -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- if adapter.version_read(target, 'bronze.messages') < 0 -%}{% do adapter.refuse_build_over_loss() %}{%- endif -%}
    {%- set exists = adapter.adopt(target, load_cached_relation(this) is not none) -%}
    {%- set columns = model.columns.values() | list -%}
    {%- set is_asked = exists and should_full_refresh() -%}
    {%- set is_changed = exists and adapter.changed_columns(target, columns) | length > 0 -%}
    {%- set lost = outcomes_without_messages(target) if is_asked or is_changed else none -%}
    {%- set added = adapter.columns_to_add(target, columns, lost['outcomes'] > 0) if is_changed and not is_asked else [] -%}
    {%- set rebuild = is_asked or (is_changed and not added and has_changed_columns(target, columns)) -%}
    {%- if rebuild -%}{{ refuse_to_lose_outcomes(target, lost) }}{%- endif -%}
    {%- set read = adapter.watermark(target, 'bronze.messages') if exists and not rebuild else none -%}
    {%- set last = adapter.delta_version(messages) -%}
    {%- set window = {
        'messages': messages, 'read': read, 'last': last, 'exists': exists, 'rebuild': rebuild, 'added': added, 'profile': [], 'formats': []
    } -%}
    {%- if read is none or read < last -%}
        {% do adapter.expect_new_rows(messages, read) %}
        {{ name_query('new_deliveries', new_deliveries(messages, read, last)) }}
        {% do window.update(profile=run_query(profile_of_new_deliveries()).rows) %}
        {%- for row in window.profile -%}
            {% do window.formats.append(row['format']) %}
        {%- endfor -%}
    {%- endif -%}
    {{ return(window) }}
{%- endmacro %}

{#- How many rows of a change log, and of what time, are of messages that bronze no longer holds. -#}
{% macro outcomes_without_messages(target) -%}
    {{ return(run_query(
        'select count(*) as outcomes, min(committed_at) as first_committed_at, max(committed_at) as last_committed_at from ' ~ target
        ~ ' as settled where exists (select 1 from bronze.removed_messages as runs where settled.topic = runs.topic'
        ~ ' and settled.partition = runs.partition and settled.offset between runs.first_offset and runs.last_offset)'
    ).rows[0]) }}
{%- endmacro %}

{#- A change log that is built anew has what bronze holds: stop where it would lose rows, unless somebody says so. -#}
{% macro refuse_to_lose_outcomes(target, lost) -%}
    {%- if lost['outcomes'] and env_var('LAKEHOUSE_LOSE_REMOVED', '') != 'yes' -%}
        {{ exceptions.raise_compiler_error(
            target ~ ' cannot be built anew without loss: ' ~ lost['outcomes'] ~ ' of its rows, committed from '
            ~ lost['first_committed_at'] ~ ' to ' ~ lost['last_committed_at'] ~ ', are of messages that bronze no longer holds (retention,'
            ~ ' or an erasure of others in the same messages). Build gold alone, `dbt run --full-refresh -s gold`; or, to lose them,'
            ~ ' set LAKEHOUSE_LOSE_REMOVED=yes.'
        ) }}
    {%- endif -%}
{%- endmacro %}
