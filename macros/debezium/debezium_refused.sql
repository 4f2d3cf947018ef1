{#-
    Why a message is none of those rows of Debezium that silver reads, though its producer is known: struct<code, detail>, null if it is
    another message. MongoDB's rows are documents, which a format of their own reads, and of YugabyteDB and Cassandra each column is an
    object. `image` is the row.
-#}
{% macro debezium_refused(format, value, json_problem, source, image) -%}
    case
        when {{ format }} <> 'debezium_mongodb' and (
            {{ source }}.connector = 'mongodb'
            or ({{ json_problem }} is not null and {{ debezium_member(value, 'source.connector') }} = 'mongodb')
        )
            then {{ problem('wrong_type', "'source.connector is mongodb (MongoDB), whose rows are documents: name the format debezium_mongodb, "
                ~ "which reads JSON, in seeds/topics.csv'") }}
        when {{ source }}.connector = 'cassandra'
            then {{ problem('wrong_type', "'source.connector is cassandra (Cassandra), whose columns are objects "
                ~ "and whose op r deletes a range of rows'") }}
        when startswith(coalesce(get(map_values({{ image }}), 0), '{'), '{') and {{ has_cells(image) }}
            then {{ problem('wrong_type', "'each column is an object of value and set, as YugabyteDB writes them: let the transform PGCompatible "
                ~ "or YBExtractNewRecordState write the values alone'") }}
    end
{%- endmacro %}

{#-
    Whether each column of a row is an object of its value and a mark that it was set, `{"value":1,"set":true}`, or null. The texts are
    compared in lines, for Spark compiles nothing below a lambda; a line break in JSON is `\n`.
-#}
{% macro has_cells(image) -%}
    array_join(map_values({{ image }}), chr(10)) rlike r'^(\{"value":[^\n]*"set":(true|false)\}(\n|\z))+\z'
{%- endmacro %}

{#- A member of a message, with a schema beside it or without one, as text; null if it has none. -#}
{% macro debezium_member(value, path) -%}
    coalesce(
        get_json_object(cast({{ value }} as string), '$.payload.{{ path }}'), get_json_object(cast({{ value }} as string), '$.{{ path }}')
    )
{%- endmacro %}

{#- Whether bytes are what Kafka Connect's JsonConverter makes of null where it writes schemas: of a tombstone, of a key that is none. -#}
{% macro is_wrapped_null(bytes) -%}
    (
        length({{ bytes }}) <= 100
        and regexp_replace(cast({{ bytes }} as string), r'\s', '')
        in ('{"schema":null,"payload":null}', '{"payload":null,"schema":null}')
    )
{%- endmacro %}
