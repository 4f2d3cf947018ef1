-- Messages that could not be read; their bytes are in silver.rejected_messages.
{{ config(severity='warn', meta={'look_at': 'silver.rejected_by_reason and silver.rejected_messages'}) }}

select * from {{ ref('rejected_by_reason') }}
