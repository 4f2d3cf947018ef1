{#- The key columns of a model's YAML, from the primary_key constraint of the model or of its columns. -#}
{% macro primary_key(model) -%}
    {%- set key = [] -%}
    {%- for constraint in model.constraints or [] if constraint.type == 'primary_key' -%}
        {% do key.extend(constraint.columns or []) %}
    {%- endfor -%}
    {%- for column in model.columns.values() if column.constraints | selectattr('type', 'equalto', 'primary_key') | list -%}
        {% do key.append(column.name) %}
    {%- endfor -%}
    {%- if not key -%}
        {{ exceptions.raise_compiler_error(
            model.name ~ ' has no key: rows cannot be merged without one. Add to its YAML'
            ~ ' `constraints: [{type: primary_key, columns: [...]}]`; a table without a key can use the row id that its format sends.'
        ) }}
    {%- endif -%}
    {%- for name in key if name not in model.columns -%}
        {{ exceptions.raise_compiler_error(model.name ~ ': the key column ' ~ name ~ ' is not among the columns of its YAML.') }}
    {%- endfor -%}
    {{ return(key) }}
{%- endmacro %}

{#-
    The columns of a gold table that a change fills: what its YAML declares, then those of `change_columns` that the YAML does
    not repeat. What only the view or the merge knows is left out, though the YAML may describe it.
-#}
{% macro gold_columns(model) -%}
    {%- set columns = [] -%}
    {%- set further = ['valid_from', 'valid_to', 'is_current'] if model.config.materialized == 'history' else ['_is_deleted'] -%}
    {%- for column in model.columns.values() if column.name not in further -%}
        {% do columns.append(column) %}
    {%- endfor -%}
    {%- for name, data_type in {
        '_sequence': 'string',
        '_committed_at': 'timestamp',
        '_operation': 'string',
        '_problems': 'array<struct<column: string, code: string, text: string>>',
        '_source_table': 'string',
        '_topic': 'string',
        '_partition': 'int',
        '_offset': 'bigint',
        '_row_number': 'int',
        '_bronze_version': 'bigint',
    }.items() if name not in model.columns -%}
        {% do columns.append({'name': name, 'data_type': data_type}) %}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro %}

{#-
    What the merge keeps beside the columns that a model shows. `_column_sequences` holds the columns that are older than the
    row, with the sequence that wrote each; `_is_replaced` and `_fingerprint` tell changes with one sequence apart.
-#}
{% macro merge_columns() -%}
    {{ return([
        {'name': '_truncated_table', 'data_type': 'string'},
        {'name': '_column_sequences', 'data_type': 'map<string, string>'},
        {'name': '_is_replaced', 'data_type': 'boolean'},
        {'name': '_fingerprint', 'data_type': 'bigint'},
    ]) }}
{%- endmacro %}

{#- The columns of a gold table that are neither of its key nor of `change_columns`. -#}
{% macro value_columns(columns, key) -%}
    {%- set found = [] -%}
    {%- for column in columns if column.name not in key and not column.name.startswith('_') -%}
        {% do found.append(column) %}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}

{#- The names of the key's columns, quoted, each behind `prefix`. -#}
{% macro key_names(key, prefix='') -%}
    {%- for name in key %}{{ prefix ~ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endmacro %}

{% macro key_is_known(key) -%}
    {%- for name in key %}{{ adapter.quote(name) }} is not null{{ ' and ' if not loop.last }}{% endfor %}
{%- endmacro %}

{#- Stop with dbt's table of differences unless the projection has the columns and types of the YAML. -#}
{% macro assert_gold_contract(sql, columns) -%}
    {% do model['columns'].clear() %}
    {%- for column in columns -%}
        {% do model['columns'].update({column.name: column}) %}
    {%- endfor -%}
    {{ get_assert_columns_equivalent(
        'select * except (_image, _is_replaced), cast(array() as array<struct<column: string, code: string, text: string>>) as _problems from (\n' ~ sql ~ '\n)'
    ) }}
{%- endmacro %}
