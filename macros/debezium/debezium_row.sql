{#-
    What tells the row of a Debezium message from the others at its place: the columns of the route's key, else the key of the message, as
    binary. Rows may share a message's key (`message.key.columns`).
-#}
{% macro debezium_row(route_key, message_key, image) -%}
    if({{ route_key }} is null, {{ message_key }}, cast(to_json(transform({{ route_key }}, name -> {{ image }}[name])) as binary))
{%- endmacro %}
