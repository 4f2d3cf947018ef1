{#-
    The options of a gold model, with their defaults. A misspelt one, one of the other materialization and a wrong value are refused when the
    model is compiled; other options of dbt, of which a project may set some for all models, are taken and have no effect here.

    on_truncate: `apply` removes the rows that are older than a TRUNCATE; `ignore` keeps them and lists it in gold_problems.
    on_drop: `keep` leaves the rows of a table that was dropped, or replaced by a new one; `apply` removes them as a TRUNCATE does.
    on_delete: `hide` shows living rows only; `flag` keeps a deleted row's last content, with `_is_deleted`. Only current_state.
    tombstone_retention: how long deleted keys are remembered, for example `90 days`; a change that comes later and is older than
        the delete brings the row back. Default: for ever. Only current_state.
    track_columns: only a change of these begins a new version; the others show their last value in it. Only history.
    cluster_by: up to four columns by which Delta arranges the table's files.
    plain_table: keep gold_plain.<name> too, the rows that the model shows as a table that every Delta reader takes.
-#}
{% macro gold_options(model, key) -%}
    {%- set options = {'on_truncate': 'apply', 'on_drop': 'keep', 'cluster_by': [], 'plain_table': false} -%}
    {%- if model.config.materialized == 'history' -%}
        {% do options.update({'track_columns': []}) %}
    {%- else -%}
        {% do options.update({'on_delete': 'hide', 'tombstone_retention': none}) %}
    {%- endif -%}
    {%- for name in options -%}
        {%- if model.config.get(name) is not none %}{% do options.update({name: model.config.get(name)}) %}{% endif -%}
    {%- endfor -%}
    {%- set refused = adapter.refused_option(model.unrendered_config, options) -%}
    {%- if refused -%}
        {{ refuse_option(
            model, refused[0], 'there is no such option of ' ~ model.config.materialized,
            ('did you mean ' ~ refused[1] ~ '? Its' if refused[1] else 'its') ~ ' options are ' ~ options.keys() | join(', ')
        ) }}
    {%- endif -%}
    {%- for name, choices in {'on_truncate': ['apply', 'ignore'], 'on_drop': ['keep', 'apply'], 'on_delete': ['hide', 'flag']}.items() -%}
        {%- if name in options and options[name] not in choices -%}
            {{ refuse_option(model, name, 'found ' ~ tojson(options[name]), 'it is one of ' ~ choices | join(', ')) }}
        {%- endif -%}
    {%- endfor -%}
    {%- if options.plain_table not in [true, false] -%}
        {{ refuse_option(model, 'plain_table', 'found ' ~ tojson(options.plain_table), 'it is true or false') }}
    {%- endif -%}
    {%- set retention = options.get('tombstone_retention') -%}
    {%- if retention is not none and not modules.re.fullmatch('[0-9]+ (hour|day|week|month|year)s?', retention | string) -%}
        {{ refuse_option(model, 'tombstone_retention', 'found ' ~ tojson(retention), 'it is a number and a unit, such as 90 days') }}
    {%- endif -%}
    {%- for name in ['cluster_by', 'track_columns'] if name in options -%}
        {%- if options[name] is string or options[name] is not iterable -%}
            {{ refuse_option(model, name, 'found ' ~ tojson(options[name]), 'it is a list of columns') }}
        {%- endif -%}
        {%- for column in options[name] if column not in model.columns -%}
            {{ refuse_option(model, name, 'found ' ~ tojson(column), 'the columns of its YAML are ' ~ model.columns.keys() | join(', ')) }}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in options.get('track_columns', []) if column in key -%}
        {{ refuse_option(model, 'track_columns', column ~ ' is of the key, which never changes within a row', 'name other columns') }}
    {%- endfor -%}
    {{ return(options) }}
{%- endmacro %}

{#- The operations that remove all rows of a source table that are older: of each a gold table stores the last as a marker. -#}
{% macro operations_on_tables(options) -%}
    {%- set operations = ['truncate'] if options.on_truncate == 'apply' else [] -%}
    {{ return(operations + (['drop'] if options.on_drop == 'apply' else [])) }}
{%- endmacro %}

{% macro is_removing_marker(options) -%}
    _truncated_table is not null and _operation in ('{{ operations_on_tables(options) | join("', '") }}')
{%- endmacro %}

{% macro refuse_option(model, option, found, wanted) -%}
    {{ exceptions.raise_compiler_error(model.name ~ ': option ' ~ option ~ ': ' ~ found ~ '; ' ~ wanted ~ '.') }}
{%- endmacro %}
