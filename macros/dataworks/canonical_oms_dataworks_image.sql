{#- `canonical_oms_image` for DataWorks 2.0, which may write a DATETIME or TIMESTAMP as a number of milliseconds. -#}
{% macro canonical_oms_dataworks_image(image, types, time_zone) -%}
    {%- set clock -%}
        case
            when type rlike '(?i)^datetime' then {{ precise_milliseconds_to_clock('text', time_zone) }}
            when type rlike '(?i)^timestamp' and text rlike r'^[0-9]{13}(\.|\z)' then {{ precise_milliseconds_to_clock('text', "'UTC'") }}
        end
    {%- endset -%}
    {{ canonical_oms_image(image, types, clock) }}
{%- endmacro %}

{#-
    `milliseconds_to_clock` for a number that may end in a point and the nanoseconds of its second. They repeat the
    milliseconds, or those are 000; null where the two contradict each other.
-#}
{% macro precise_milliseconds_to_clock(text, time_zone) -%}
    {%- set milliseconds, nanoseconds = 'split_part(' ~ text ~ ", '.', 1)", 'split_part(' ~ text ~ ", '.', 2)" -%}
    case
        when {{ text }} not like '%.%' then {{ milliseconds_to_clock(text, time_zone) }}
        when
            {{ text }} rlike r'^-?[0-9]{1,15}\.[0-9]{1,9}\z'
            and right({{ milliseconds }}, 3) in ('000', rpad({{ nanoseconds }}, 3, '0'))
            then left({{ milliseconds_to_clock(milliseconds, time_zone) }}, 19) || {{ trimmed_fraction("'.' || " ~ nanoseconds) }}
    end
{%- endmacro %}
