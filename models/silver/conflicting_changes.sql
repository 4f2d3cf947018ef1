{{ config(materialized='view') }}

{{ conflicts_among('true') }}
