{#- Whether a text is a time in `unit` since 1970 up to the year 9999, or 0 or -1, which mean that the time is not known. -#}
{% macro is_epoch(digits, unit) -%}
    {%- set last = {'seconds': 253402300799, 'milliseconds': 253402300799999}[unit] -%}
    ({{ digits }} rlike r'^(-1|[0-9]{1,15})\z' and cast({{ digits }} as bigint) <= {{ last }})
{%- endmacro %}
