{{ config(materialized='change_log', contract={'enforced': true}) }}

with

outcomes as (

    {{ outcomes_of([
        'canal',
        'dataworks_kafka',
        'drs_avro',
        'drs_json',
        'drs_json_c',
        'dts_avro',
        'dts_canal',
        'dts_shareplex',
        'oceanbase_avro',
        'oceanbase_canal',
        'oms_canal',
        'oms_dataworks',
        'oms_default',
        'oms_default_extend',
        'oms_shareplex'
    ]) }}

)

select
    *,
    current_timestamp() as loaded_at
from outcomes
