-- What is beyond a limit of seeds/limits.csv: `lakehouse check` prints the same.
{% test limits_are_kept(model) %}
    {{ config(severity='warn', meta={'look_at': 'what `lakehouse check` prints'}) }}

    {{ adapter.data_tests.findings() }}

{% endtest %}
