{#-
    A number's text without exponent, every digit kept: 1.50E1 is 15.0. Other texts stay as sent, and so do exponents
    of more than four digits: a few bytes must not become gigabytes.
-#}
{% macro plain_number(text) -%}
    {%- set digits = "(regexp_extract(" ~ text ~ ", r'^-?([0-9]+)', 1) || regexp_extract(" ~ text ~ ", r'\.([0-9]+)', 1))" -%}
    {%- set point = "(length(regexp_extract(" ~ text ~ ", r'^-?([0-9]+)', 1)) + cast(regexp_extract(" ~ text ~ ", r'[eE]\+?(-?[0-9]+)\z', 1) as int))" -%}
    case
        when not {{ text }} rlike r'^-?[0-9]++(\.[0-9]++)?+[eE][+-]?0*+[0-9]{1,4}\z' then {{ text }}
        else left({{ text }}, if({{ text }} like '-%', 1, 0)) || case
            when {{ point }} <= 0 then '0.' || repeat('0', -{{ point }}) || {{ digits }}
            else coalesce(nullif(ltrim('0', rpad(left({{ digits }}, {{ point }}), {{ point }}, '0')), ''), '0')
                || if(length({{ digits }}) > {{ point }}, '.' || substr({{ digits }}, {{ point }} + 1), '')
        end
    end
{%- endmacro %}
