{{ config(materialized='view') }}

with

shapes_beside_whole as (

    select
        * except (source_type),
        -- Rows that silver already had when it began to keep it lack it: they are of the one database that others name.
        coalesce(
            source_type,
            if(min(source_type) over one_table = max(source_type) over one_table, min(source_type) over one_table, null)
        ) as source_type,
        -- A document that lacks a field says nothing of other documents.
        collect_list(if(is_whole and not source_type <=> 'mongodb', struct(first_seen, last_seen), null)) over one_table as whole_images
    from {{ ref('column_shapes') }}
    window one_table as (partition by database_name, schema_name, table_name, format)

),

sightings as (

    select
        *,
        explode(names) as column_name
    from shapes_beside_whole

),

typed as (

    select
        *,
        get(filter(types, type -> type.key = column_name), 0).value as type_text
    from sightings

),

columns_by_type as (

    select
        database_name,
        schema_name,
        table_name,
        format,
        source_type,
        column_name,
        lower(replace(type_text, ' ', '')) as plain_type,
        type_text rlike '^[0-9]+$' as is_number,
        min_by(type_text, first_seen) as column_type,
        min(first_seen) as first_seen,
        max(last_seen) as last_seen,
        any_value(whole_images) as whole_images
    from typed
    group by 1, 2, 3, 4, 5, 6, 7, 8

),

compared as (

    select
        *,
        min(first_seen) over (
            partition by database_name, schema_name, table_name, format, column_name
        ) as column_first_seen,
        max(last_seen) over (
            partition by database_name, schema_name, table_name, format, column_name
        ) as column_last_seen,
        -- Some formats give the number of a type where there is no value to tell its name: numbers compare with numbers.
        -- Those of two kinds of databases mean different types.
        lag(column_type) over (
            partition by database_name, schema_name, table_name, format, source_type, column_name, is_number
            order by first_seen
        ) as previous_type
    from columns_by_type

),

-- A column is there until a statement drops it, or until a whole image is without it, unless it is seen or added later.
compared_with_statements as (

    select
        compared.*,
        coalesce(altered.drops, array()) as drops,
        greatest(compared.last_seen.sequence, altered.last_added) as last_known
    from compared
    left join {{ ref('altered_columns') }} as altered
        on
            compared.database_name = altered.database_name
            and compared.schema_name <=> altered.schema_name
            and compared.table_name = altered.table_name
            and compared.format = altered.format
            and lower(compared.column_name) = altered.column_name

)

select
    database_name,
    schema_name,
    table_name,
    format,
    column_name,
    column_type,
    source_type,
    previous_type,
    first_seen,
    last_seen,
    first_seen = column_first_seen and array_min(whole_images.first_seen).sequence < first_seen.sequence as is_new,
    if(
        last_seen = column_last_seen,
        array_min(
            concat(
                filter(drops, place -> place.sequence > last_known),
                transform(
                    filter(whole_images, images -> images.last_seen.sequence > last_known),
                    images -> if(images.first_seen.sequence > last_known, images.first_seen, images.last_seen)
                )
            )
        ),
        null
    ) as missing_since,
    array_sort(array_union(whole_images.first_seen.sequence, whole_images.last_seen.sequence)) as whole_image_sequences
from compared_with_statements
