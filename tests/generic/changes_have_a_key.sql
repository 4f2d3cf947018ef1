{#- Changes that could not be merged, since their key is missing or does not fit its type. -#}
{% test changes_have_a_key(model) %}
    {{ config(severity='warn') }}

    select * from {{ model.incorporate(path={'schema': model.schema ~ '_storage', 'identifier': model.identifier ~ '_without_key'}) }}

{% endtest %}
