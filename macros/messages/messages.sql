{#-
    The messages of a unit test, one a line, as `ref('messages')` has them: `{% call messages('canal', 'shop.orders') %}`, the lines, `{% endcall %}`.
    A line is the text of a value; `\x` begins bytes in hexadecimal, `\j` a text as JSON writes it, for line ends and the like, `\N` is no value.
    A key stands before the value and a tab. Offsets begin with `first_offset`, or are those of `offsets`; other columns of `messages` are given as SQL, by name.
-#}
{% macro messages(format, topic, first_offset=0, offsets=none) -%}
    {%- set columns = {
        'partition': '0', 'ingested_at': 'null', 'bronze_version': '7L', 'time_zone': "'UTC'", 'avro_schema': 'cast(null as string)',
        'delete_image': 'cast(null as string)', 'route_database': 'cast(null as string)', 'route_schema': 'cast(null as string)',
        'route_table': 'cast(null as string)', 'route_key': 'cast(null as array<string>)', 'operation_column': 'cast(null as string)',
        'sequence_column': 'cast(null as string)', 'missing_columns': 'cast(null as string)', 'route_problem': 'null'
    } -%}
    {%- do columns.update(kwargs) -%}
select
    '{{ format }}' as format,
    '{{ topic }}' as topic,
    {%- for name, sql in columns.items() %}
    {{ sql }} as {{ name }},
    {%- endfor %}
    offset,
    message_key,
    value
from values
    {%- for line in caller().strip('\n').split('\n') %}
    {%- set parts = line.split('\t', 1) %}
    ({{ offsets[loop.index0] if offsets else first_offset + loop.index0 }}L, {{ bytes_of(parts[0] if parts | length > 1 else '\\N') }}, {{ bytes_of(parts[-1]) }})
    {{- ',' if not loop.last }}
    {%- endfor %}
as sent (offset, message_key, value)
{%- endmacro %}

{#- A value of a line of `messages` as SQL. -#}
{% macro bytes_of(text) -%}
    {%- if text == '\\N' -%}
        cast(null as binary)
    {%- elif text.startswith('\\x') -%}
        X'{{ text[2:] }}'
    {%- else -%}
        {%- set value = fromjson(text[2:]) if text.startswith('\\j') else text -%}
        cast({{ text_literal(value) }} as binary)
    {%- endif -%}
{%- endmacro %}
