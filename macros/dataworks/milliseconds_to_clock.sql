{#-
    Milliseconds since 1970, negative ones too, as the text `YYYY-MM-DD HH:MM:SS[.f]` of a zone's wall clock; null for any other
    text, and if the wall clock shows a year outside 1 to 9999.
-#}
{% macro milliseconds_to_clock(text, time_zone) -%}
    {%- set milliseconds = 'try_cast(' ~ text ~ ' as bigint)' -%}
    case
        when {{ text }} rlike r'^-?[0-9]{1,15}\z' and {{ milliseconds }} between -62135510400000 and 253402387199999
            then nullif(
                regexp_extract(
                    date_format(from_utc_timestamp(timestamp_millis({{ milliseconds }}), {{ time_zone }}), 'yyyy-MM-dd HH:mm:ss.SSS'),
                    r'^[0-9]{4}-.{14}(\.[0-9]*[1-9])?', 0
                ),
                ''
            )
    end
{%- endmacro %}
