{#- A timestamp (UTC) from a text `YYYY-MM-DDTHH:MM:SS` in the zone, or in UTC where Z or +0000 follows; null for any other text. -#}
{% macro shareplex_timestamp(text, time_zone) -%}
    {%- set instant -%}
        to_utc_timestamp(
            try_to_timestamp(replace(left({{ text }}, 19), 'T', ' '), 'yyyy-MM-dd HH:mm:ss'),
            if(length({{ text }}) = 19, {{ time_zone }}, 'UTC')
        )
    {%- endset -%}
    case
        when
            {{ text }} rlike r'^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+]00:?00)?\z'
            and {{ instant }} between timestamp '0001-01-01 00:00:00' and timestamp '9999-12-31 23:59:59'
            then {{ instant }}
    end
{%- endmacro %}
