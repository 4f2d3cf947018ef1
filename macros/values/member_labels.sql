{#- The labels of a MySQL type `enum('a','b')` or `set('a','b')`. -#}
{% macro member_labels(type) -%}
    transform(regexp_extract_all({{ type }}, r"'((?:[^']|'')*+)'", 1), label -> replace(label, "''", "'"))
{%- endmacro %}

{#- An ENUM's ordinal or a SET's mask of up to 64 bits as its label or labels; a text that is neither, or goes beyond the labels, stays as sent. -#}
{% macro members_of(text, type) -%}
    case
        when not ({{ text }} rlike r'^[0-9]{1,20}\z' and cast({{ text }} as decimal(20, 0)) <= 18446744073709551615) then {{ text }}
        when {{ type }} rlike '(?i)^enum' and {{ text }} = '0' then ''
        when {{ type }} rlike '(?i)^enum' then coalesce(get({{ member_labels(type) }}, try_cast({{ text }} as int) - 1), {{ text }})
        when length(conv({{ text }}, 10, 2)) <= size({{ member_labels(type) }})
            then array_join(
                filter({{ member_labels(type) }}, (label, place) -> substr(reverse(conv({{ text }}, 10, 2)), place + 1, 1) = '1'), ','
            )
        else {{ text }}
    end
{%- endmacro %}
