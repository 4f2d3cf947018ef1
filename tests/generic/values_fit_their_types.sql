{#-
    Rows with a value that does not fit its column's type and is null for it, once there are more of them than `max_rows` and
    than `max_share` of all rows. `columns` names the columns to look at, by default all.
-#}
{% test values_fit_their_types(model, max_rows=0, max_share=0, columns=[]) %}
    {{ config(severity='warn', meta={'look_at': 'gold.gold_problems'}) }}

    with

    rows as (

        select
            *,
            exists(
                _problems,
                problem -> problem.code in ({{ adapter.gold.codes_of_problems('values') }})
                {{ "and problem.column in ('" ~ columns | join("', '") ~ "')" if columns }}
            ) as has_problem
        from {{ model }}

    )

    select * except (has_problem) from rows
    where
        has_problem
        {%- if max_rows or max_share %}
        and (select count_if(has_problem) > greatest({{ max_rows }}, {{ max_share }} * count(*)) from rows)
        {%- endif %}

{% endtest %}
