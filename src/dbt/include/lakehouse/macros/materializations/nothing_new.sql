{#- The result of a materialization that had nothing to do, and ran no query to know it. -#}
{% macro nothing_new() -%}
    {% do store_raw_result('main', message='NOTHING NEW', code='NOTHING NEW', rows_affected='0') %}
{%- endmacro %}

{#-
    The result of a materialization that was given a part of its sources only (`--empty`, `--sample`): its query has been
    checked, and nothing is written, for what it left out would not be read again.
-#}
{% macro nothing_written() -%}
    {% do adapter.tables.say_not_written(this) %}
    {% do store_raw_result('main', message='NOT WRITTEN', code='NOT WRITTEN', rows_affected='0') %}
{%- endmacro %}
