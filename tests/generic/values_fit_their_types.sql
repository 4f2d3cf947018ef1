{#- Rows with a value that does not fit its column's type and is null for it. -#}
{% test values_fit_their_types(model) %}
    {{ config(severity='warn') }}

    select * from {{ model }}
    where size(_problems) > 0

{% endtest %}
