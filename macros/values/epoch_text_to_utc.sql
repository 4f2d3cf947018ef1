{#- Seconds since 1970 with up to nine digits of a fraction, as the text `YYYY-MM-DD HH:MM:SS[.f]` in UTC; null for any other text. -#}
{% macro epoch_text_to_utc(text) -%}
    case
        when {{ text }} rlike r'^[0-9]{1,12}(\.[0-9]{0,9})?\z' and try_cast(split_part({{ text }}, '.', 1) as bigint) <= 253402300799
            then date_format(timestamp_seconds(try_cast(split_part({{ text }}, '.', 1) as bigint)), 'yyyy-MM-dd HH:mm:ss')
                || {{ trimmed_fraction("if(" ~ text ~ " like '%.%', '.' || split_part(" ~ text ~ ", '.', 2), '')") }}
    end
{%- endmacro %}
