{#-
    The types of the columns, out of the list of the fields of an image in a message's schema, as `debezium_image` wants them: the
    semantic type, or the type of Kafka Connect; for a decimal with its digits. Null for a list that leaves a column without a name,
    or names one twice.
-#}
{% macro debezium_types(fields) -%}
    if(
        size(array_distinct(filter({{ fields }}.field, name -> name is not null))) = size({{ fields }}),
        map_from_entries(
            transform(
                {{ fields }},
                sent -> struct(
                    sent.field,
                    coalesce(sent.name, sent.type) || if(
                        sent.name = 'org.apache.kafka.connect.data.Decimal',
                        '(' || coalesce(sent.parameters['connect.decimal.precision'], '') || ',' || sent.parameters['scale'] || ')',
                        ''
                    )
                )
            )
        ),
        null
    )
{%- endmacro %}
