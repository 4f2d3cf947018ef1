{#-
    An ENUM's ordinal or a SET's mask of up to 64 bits as its label or labels, of the type `enum('a','b')` or `set('a','b')`; a text
    that is neither, or goes beyond the labels, stays as sent.
-#}
{% macro members_of(text, type) -%}
    {%- set labels -%}
        transform(regexp_extract_all({{ type }}, r"'((?:[^']|'')*+)'", 1), label -> replace(label, "''", "'"))
    {%- endset -%}
    case
        when not ({{ text }} rlike r'^[0-9]{1,20}\z' and try_cast({{ text }} as decimal(20, 0)) <= 18446744073709551615) then {{ text }}
        when {{ type }} rlike '(?i)^enum' and {{ text }} = '0' then ''
        when {{ type }} rlike '(?i)^enum' then coalesce(get({{ labels }}, try_cast({{ text }} as int) - 1), {{ text }})
        when length(conv({{ text }}, 10, 2)) <= size({{ labels }})
            then array_join(filter({{ labels }}, (label, place) -> substr(reverse(conv({{ text }}, 10, 2)), place + 1, 1) = '1'), ',')
        else {{ text }}
    end
{%- endmacro %}
