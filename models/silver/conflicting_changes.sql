{{ config(materialized='view') }}

{{ conflicts_among(ref('events'), 'true') }}
