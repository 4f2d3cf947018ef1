{{ config(
    materialized='incremental', incremental_strategy='merge', file_format='delta', unique_key='id'
) }}

select * from {{ ref(var('format')) }}
qualify row_number() over (partition by id order by _sequence desc) = 1
