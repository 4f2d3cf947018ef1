{#-
    The place of a change of TiCDC: the commit of its transaction, the operation, and the row. A commit gives a row one change at most,
    but it may free a key and give it to another row, so that a DELETE comes before an UPDATE, and that before an INSERT. An image of
    the key alone (`is_whole` is false) comes before the same change with all columns. A message without a commit timestamp is placed
    by `milliseconds` and by the delivery. `row` is what `ticdc_row` makes of the row.
-#}
{% macro ticdc_sequence(commit_ts, milliseconds, operation, is_whole, row, delivery) -%}
    {%- set operation_number = "case " ~ operation ~ " when 'insert' then 4 when 'update' then 2 else 0 end" -%}
    {%- set row_number = "coalesce(conv(left(md5(" ~ row ~ "), 16), 16, 10), '0')" -%}
    case
        when {{ commit_ts }} is not null
            then {{ sequence(
                [tso_milliseconds(commit_ts), commit_ts, operation_number ~ " + if(" ~ is_whole ~ ", 1, 0)", row_number]
                + ["'0'"] * delivery | length
            ) }}
        else {{ sequence(["coalesce(nullif(" ~ milliseconds ~ ", '-1'), '0')", "'0'", "'0'", "'0'"] + delivery) }}
    end
{%- endmacro %}

{#- The milliseconds since 1970 in a timestamp of TiDB (TSO), as digits: what is above its lowest 18 bits. -#}
{% macro tso_milliseconds(tso) -%}
    cast(try_cast({{ tso }} as decimal(20, 0)) div 262144 as string)
{%- endmacro %}

{#- What tells a row from the others of its transaction, as text: its key, or all columns where no key is named. -#}
{% macro ticdc_row(image, key_columns) -%}
    {%- set names = columns_of_row(key_columns, "map_keys(" ~ image ~ ")") -%}
    {%- set of_key -%}
        map_filter({{ image }}, (name, text) -> {{ key_columns }} is null or array_contains(names_of_key, name))
    {%- endset -%}
    to_json(array_sort(map_entries({{ worked_out_once('names_of_key', names, of_key) }})))
{%- endmacro %}

{#- Why a timestamp of TiDB is none: struct<code, detail>, null if it is one or is missing. `field` is its name, `tso` its text. -#}
{% macro tso_problem(field, tso) -%}
    coalesce({{ position_problem(field, tso) }}, {{ time_problem(field, tso_milliseconds(tso), 'milliseconds') }})
{%- endmacro %}
