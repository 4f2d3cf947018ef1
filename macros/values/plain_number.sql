{#-
    The text of a number in plain notation, every digit kept: 1.50E1 is 15.0, +007 is 7, -0 is 0. Other texts stay as sent, and so
    do exponents of more than four digits: a few bytes must not become gigabytes. Most numbers are plain and cost one pattern.
-#}
{% macro plain_number(text) -%}
    {%- set whole = "regexp_extract(" ~ text ~ ", r'^[+-]?([0-9]*)', 1)" -%}
    {%- set digits = "(" ~ whole ~ " || regexp_extract(" ~ text ~ ", r'\.([0-9]*)', 1))" -%}
    {%- set exponent = "coalesce(try_cast(regexp_extract(" ~ text ~ ", r'[eE]\+?(-?[0-9]+)\z', 1) as int), 0)" -%}
    {%- set point = "(length(" ~ whole ~ ") + " ~ exponent ~ ")" -%}
    case
        when {{ text }} is null or {{ text }} rlike r'^(?:-(?=[0-9.]*[1-9]))?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+\z' then {{ text }}
        when not {{ text }} rlike r'^[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+0*+[0-9]{1,4})?+\z' then {{ text }}
        else if({{ text }} like '-%' and {{ digits }} rlike '[1-9]', '-', '') || case
            when {{ point }} <= 0 then '0.' || repeat('0', -{{ point }}) || {{ digits }}
            else coalesce(nullif(ltrim('0', rpad(left({{ digits }}, {{ point }}), {{ point }}, '0')), ''), '0')
                || if(length({{ digits }}) > {{ point }}, '.' || substr({{ digits }}, {{ point }} + 1), '')
        end
    end
{%- endmacro %}
