{#-
    What breaks a rule of a gold model, in rows that are shown and in those that are held back, once there is more of it than
    `max_violations`. `rules` names the rules to look at, by default all.
-#}
{% test rules_are_kept(model, max_violations=0, rules=[]) %}
    {{ config(severity='warn', meta={'look_at': 'gold.gold_problems'}) }}

    select * from {{ model.incorporate(path={'schema': model.schema ~ '_storage', 'identifier': model.identifier ~ '_problems'}) }}
    where
        code not in ({{ adapter.gold.codes_of_problems('values', 'others') }})
        {{ "and code in ('" ~ rules | join("', '") ~ "')" if rules }}
    qualify count(*) over () > {{ max_violations }}

{% endtest %}
