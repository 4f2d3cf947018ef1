{#-
    The row of the key in a message's Kafka key, as map<string, string>; null if there is none. It stands beside a schema, or alone.
-#}
{% macro debezium_key(key='message_key') -%}
    coalesce(
        from_json(cast({{ key }} as string), 'payload map<string, string>').payload,
        from_json(cast({{ key }} as string), 'map<string, string>')
    )
{%- endmacro %}
