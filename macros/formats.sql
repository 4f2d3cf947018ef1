{#- The formats that silver reads: each has a model of its name. Here, and nowhere else, a format is named to be read. -#}
{% macro formats() -%}
    {{ return(own_formats() + [
        'canal',
        'dataworks_kafka',
        'debezium_avro',
        'debezium_flat_json',
        'debezium_json',
        'drs_avro',
        'drs_json',
        'drs_json_c',
        'dts_avro',
        'dts_canal',
        'dts_shareplex',
        'maxwell',
        'oceanbase_avro',
        'oceanbase_canal',
        'oms_canal',
        'oms_dataworks',
        'oms_debezium',
        'oms_debezium_flatten',
        'oms_default',
        'oms_default_extend',
        'oms_maxwell',
        'oms_shareplex',
        'tencent_canal',
        'tidb_canal',
    ]) }}
{%- endmacro %}
