{#- A timestamp (UTC) from decimal digits that count `unit` since 1970; null for null, 0, -1 and times after the year 9999. -#}
{% macro epoch_to_timestamp(digits, unit) -%}
    {%- set per_second = {'seconds': 1, 'milliseconds': 1000}[unit] -%}
    timestamp_millis(
        case
            when {{ is_epoch(digits, unit) }} and try_cast({{ digits }} as bigint) > 0
                then try_cast({{ digits }} as bigint) * {{ 1000 // per_second }}
        end
    )
{%- endmacro %}
