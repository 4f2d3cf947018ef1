-- Messages that could not be read; their bytes are in silver.rejected_messages.
{{ config(severity='warn') }}

select * from {{ ref('rejected_by_reason') }}
