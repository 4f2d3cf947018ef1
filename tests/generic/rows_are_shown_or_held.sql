{#- The accounting of a gold model with rules: each row that the merge has made is shown or held back, and none is both. -#}
{% test rows_are_shown_or_held(model) %}
    {{ config(meta={'look_at': model.schema ~ '_storage.' ~ model.identifier ~ '_accounting'}) }}

    select * from {{ model.incorporate(path={'schema': model.schema ~ '_storage', 'identifier': model.identifier ~ '_accounting'}) }}
    where merged_rows <> shown_rows + held_rows

{% endtest %}
