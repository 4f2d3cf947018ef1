{#- What the rows of Canal messages say beside their images, as columns of silver.events. -#}
{% macro canal_change(full_load=none) -%}
{{ "if(type = '" ~ full_load ~ "', 'snapshot', lower(type))" if full_load else 'lower(type)' }} as operation,
source_database as database_name,
coalesce(get(truncated, row_number).table_name, source_table) as table_name,
pknames as key_columns,
types as column_types,
sql as ddl,
{{ epoch_to_timestamp('es', 'milliseconds') }} as committed_at,
{{ epoch_to_timestamp('ts', 'milliseconds') }} as produced_at,
gtid as transaction_id
{%- endmacro %}

{#-
    The images of a row in the dialects whose `old` has the changed columns alone: a whole row completes it. Canal takes the types
    from the row, so that nothing vouches for the row of an update.
-#}
{% macro canal_images(row_image, old_image, is_whole) -%}
case type
    when 'DELETE' then {{ row_image }}
    when 'UPDATE' then {{ laid_over_whole(old_image, row_image, is_whole) }}
end as before,
if(type = 'DELETE', null, {{ row_image }}) as after,
if(type = 'DELETE' or (type = 'UPDATE' and {{ old_image }} is not null), false, null) as before_is_complete,
if(type <> 'DELETE', type <> 'UPDATE' and {{ is_whole }}, null) as after_is_complete
{%- endmacro %}
