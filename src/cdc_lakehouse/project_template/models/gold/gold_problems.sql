{{ config(materialized='view') }}

with

problems as (

    {{ problems_of([
    ]) }}

)

select
    table_name,
    column_name,
    code,
    count(*) as problems,
    min_by(text, committed_at) as first_text,
    min(committed_at) as first_committed_at,
    max(committed_at) as last_committed_at
from problems
group by table_name, column_name, code
