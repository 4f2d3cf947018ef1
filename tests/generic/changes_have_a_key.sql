{#- Changes that could not be merged, since their key is missing or does not fit its type, once there are more than `max_rows`. -#}
{% test changes_have_a_key(model, max_rows=0) %}
    {{ config(severity='warn', meta={'look_at': 'gold.gold_problems'}) }}

    select * from {{ model.incorporate(path={'schema': model.schema ~ '_storage', 'identifier': model.identifier ~ '_without_key'}) }}
    qualify count(*) over () > {{ max_rows }}

{% endtest %}
