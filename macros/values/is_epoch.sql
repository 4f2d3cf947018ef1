{#-
    Whether a text is a time in `unit` since 1970 up to the year 9999, or 0 or -1, which mean that the time is not known. Spark works
    out what comes twice also where the left side of an `and` is false, so that a cast after a check has to be a try_cast.
-#}
{% macro is_epoch(digits, unit) -%}
    {%- set last = {'seconds': 253402300799, 'milliseconds': 253402300799999}[unit] -%}
    ({{ digits }} rlike r'^(-1|[0-9]{1,15})\z' and try_cast({{ digits }} as bigint) <= {{ last }})
{%- endmacro %}
