{#-
    The order of a Canal change in the dialects whose `id` is a position in the source's log: the position and the row's number in
    its message. A message without a position is ordered by its commit time `es`, and within it by `delivery`, its partition and
    offset.
-#}
{% macro canal_sequence(id, es, delivery, row_number) -%}
    case
        when {{ id }} is not null then {{ sequence([id, row_number]) }}
        else {{ sequence(["coalesce(nullif(" ~ es ~ ", '-1'), '0')"] + delivery + [row_number]) }}
    end
{%- endmacro %}
