{#-
    The members of a message's key that a row has, as map<string, string>. The transform ByLogicalTableRouter adds one that names the
    table, and JsonConverter writes a key that is null as a schema and a payload that are null.
-#}
{% macro debezium_row_key(key='key_image') -%}
    if(
        map_contains_key({{ key }}, 'schema') and map_contains_key({{ key }}, 'payload')
        and coalesce({{ key }}['schema'], {{ key }}['payload']) is null,
        null,
        map_filter({{ key }}, (name, text) -> name <> '__dbz__physicalTableIdentifier')
    )
{%- endmacro %}
