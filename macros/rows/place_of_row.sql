{#-
    The place of a change by a column of its row, as a text that sorts: a whole number of up to 38 digits, or a date and time, which
    is of `time_zone` where it has no zone of its own. Numbers come before times; a time is seconds since the year 1 and nine digits
    of a fraction. Three numbers of twenty digits; null for all other texts.
-#}
{% macro place_of_row(text, time_zone) -%}
    {%- set zone = "Z|[+-](?:0[0-9]|1[0-7])(?::?[0-5][0-9])?|[+-]18(?::?00)?" -%}
    {%- set moment = "r'^([1-9][0-9]{3}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:\.([0-9]{1,9}))? ?(" ~ zone ~ ")?\z'" -%}
    {%- set clock -%}
        regexp_extract({{ text }}, {{ moment }}, 1) || ' ' || regexp_extract({{ text }}, {{ moment }}, 2)
        || coalesce(nullif(regexp_extract({{ text }}, {{ moment }}, 3), ''), ':00')
    {%- endset -%}
    case
        when {{ text }} rlike r'^[0-9]{1,38}\z'
            then {{ sequence(["'0'", "left(lpad(" ~ text ~ ", 40, '0'), 20)", "right(lpad(" ~ text ~ ", 40, '0'), 20)"]) }}
        else lpad('1', 20, '0') || '.' || lpad(
            unix_seconds(
                to_utc_timestamp(
                    try_to_timestamp({{ clock }}, 'yyyy-MM-dd HH:mm:ss'),
                    coalesce(nullif(regexp_extract({{ text }}, {{ moment }}, 5), ''), {{ time_zone }})
                )
            ) + 62135596800,
            20,
            '0'
        ) || '.' || lpad(rpad(regexp_extract({{ text }}, {{ moment }}, 4), 9, '0'), 20, '0')
    end
{%- endmacro %}
