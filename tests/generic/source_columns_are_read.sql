{#-
    Columns of the model's source tables that the model does not read, and columns that it reads though the source has them no
    longer. `except` names those that are meant to be so. A former name of a column is another column if it is seen after the
    newest name came: that is not read either.
-#}
{% test source_columns_are_read(model, except=[]) %}
    {{ config(severity='warn', meta={'look_at': 'silver.schema_drift'}) }}

    with

    source_tables as (

        select distinct _source_table
        from {{ model.incorporate(path={'schema': model.schema ~ '_storage', 'identifier': model.identifier}) }}

    ),

    source_columns as (

        select
            concat_ws('.', database_name, schema_name, table_name) as source_table,
            column_name,
            max_by(column_type, first_seen) as column_type,
            min(first_seen) as first_seen,
            max(missing_since) as missing_since,
            max(last_seen) as last_seen,
            {{ former_names_of_source_columns(model) }}[column_name] as newest_name
        from {{ ref('source_columns') }}
        where concat_ws('.', database_name, schema_name, table_name) in (select _source_table from source_tables)
        group by 1, 2

    )

    select seen.* except (last_seen, newest_name)
    from source_columns as seen
    left join source_columns as newest
        on seen.source_table = newest.source_table and seen.newest_name = newest.column_name
    where
        if(
            seen.newest_name is null,
            (seen.missing_since is not null) = array_contains({{ names_of_source_columns(model) }}, seen.column_name),
            seen.missing_since is null and newest.missing_since is null and seen.last_seen.sequence > newest.first_seen.sequence
        )
        {%- for name in except %}
        and seen.column_name <> {{ text_literal(name) }}
        {%- endfor %}

{% endtest %}
