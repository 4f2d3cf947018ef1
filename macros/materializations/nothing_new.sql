{#- The result of a materialization that had nothing to do, and ran no query to know it. -#}
{% macro nothing_new() -%}
    {% do store_raw_result('main', message='NOTHING NEW', code='NOTHING NEW', rows_affected='0') %}
{%- endmacro %}
