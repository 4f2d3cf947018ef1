{#-
    The order of an OMS change. storeDataSequence is seconds (ten digits) and a counter whose padding is not documented: two
    numbers, not one. Without it (full load, or switched off) the commit time and the delivery decide.
-#}
{% macro oms_sequence(store_sequence, commit_seconds) -%}
    if(
        length({{ store_sequence }}) > 10,
        {{ sequence(['left(' ~ store_sequence ~ ', 10)', 'substr(' ~ store_sequence ~ ', 11)', "'0'", "'0'"]) }},
        {{ sequence(["coalesce(nullif(" ~ commit_seconds ~ ", '-1'), '0')", "'0'", 'partition', 'offset']) }}
    )
{%- endmacro %}
