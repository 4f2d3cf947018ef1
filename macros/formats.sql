{#- The formats that silver reads. Here, and nowhere else, a format is named to be read. -#}
{% macro formats() -%}
    {{ return(own_formats() + [
        'aws_dms',
        'canal',
        'datastream_json',
        'dataworks_kafka',
        'debezium_avro',
        'debezium_flat_json',
        'debezium_json',
        'debezium_mongodb',
        'debezium_protobuf',
        'drs_avro',
        'drs_json',
        'drs_json_c',
        'dts_avro',
        'dts_canal',
        'dts_shareplex',
        'flink_changelog',
        'goldengate_json',
        'maxwell',
        'mongodb_change_stream',
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
        'rows',
        'tencent_canal',
        'ticdc_simple',
        'tidb_canal',
    ]) }}
{%- endmacro %}

{#- Each format has a model of its name, but for these: their envelope is that of another format, whose model reads them, too. -#}
{% macro twins() -%}
    {{ return({
        'debezium_mongodb': 'debezium_json', 'debezium_protobuf': 'debezium_avro', 'drs_json_c': 'drs_json', 'oceanbase_canal': 'canal'
    }) }}
{%- endmacro %}
