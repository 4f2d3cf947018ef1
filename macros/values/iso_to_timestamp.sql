{#-
    A timestamp (UTC) from a text `YYYY-MM-DDTHH:MM:SS[.f]`, or with a blank for the T: in UTC where Z follows, else in the zone; null
    for any other text.
-#}
{% macro iso_to_timestamp(text, time_zone="'UTC'") -%}
    {%- set instant -%}
        to_utc_timestamp(try_cast(rtrim('Z', {{ text }}) as timestamp), if({{ text }} like '%Z', 'UTC', {{ time_zone }}))
    {%- endset -%}
    case
        when
            {{ text }} rlike r'^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?\z'
            and {{ instant }} between timestamp '0001-01-01 00:00:00' and timestamp '9999-12-31 23:59:59.999999'
            then {{ instant }}
    end
{%- endmacro %}
