-- The same topic, partition and offset with other bytes: the second landing was not merged.
{{ config(severity='warn', meta={'look_at': 'silver.conflicting_messages'}) }}

select * from {{ ref('conflicting_messages') }}
