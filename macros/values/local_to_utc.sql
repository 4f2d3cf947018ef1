{#- The text `YYYY-MM-DD HH:MM:SS[.f]` of a zone's wall clock in UTC; any other text (a zero date) stays as sent. -#}
{% macro local_to_utc(text, time_zone) -%}
    if(
        {{ time_zone }} = 'UTC',
        {{ trimmed_fraction(text) }},
        coalesce(
            date_format(
                to_utc_timestamp(try_to_timestamp(left({{ text }}, 19), 'yyyy-MM-dd HH:mm:ss'), {{ time_zone }}),
                'yyyy-MM-dd HH:mm:ss'
            ) || {{ trimmed_fraction('substr(' ~ text ~ ', 20)') }},
            {{ trimmed_fraction(text) }}
        )
    )
{%- endmacro %}
