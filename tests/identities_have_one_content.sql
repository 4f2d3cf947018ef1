-- The same topic, partition and offset with other bytes: the second landing was not merged.
{{ config(severity='warn') }}

select * from {{ ref('conflicting_messages') }}
