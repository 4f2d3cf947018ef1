{#-
    Up to which commit of bronze.messages this data test has passed; -1 if it is to look at everything, as with
    `--vars 'check: everything'`.
-#}
{% macro passed_before() -%}
    {%- set passed = adapter.data_tests.passed_before(model) -%}
    {{ -1 if var('check', 'new') == 'everything' else passed }}
{%- endmacro %}
