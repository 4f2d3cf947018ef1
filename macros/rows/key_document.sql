{#-
    The row that a Kafka key names, as a JSON object (binary): the key itself, or, where the table's key is one column, a plain text
    or number, which may stand in quotes. Null for bytes that are no text, for lists and for nothing.
-#}
{% macro key_document(key, columns) -%}
    {%- set text = "cast(" ~ key ~ " as string)" -%}
    {%- set plain -%}
        case
            when {{ text }} rlike r'^"(?:[^"\\]++|\\.)*+"\z' then get_json_object({{ text }}, '$')
            when is_valid_utf8({{ text }}) and {{ text }} <> 'null' and {{ text }} rlike r'^[^\["\x00-\x1f][^\x00-\x1f]*+\z' then {{ text }}
        end
    {%- endset -%}
    case
        when {{ text }} rlike r'^\s*+\{' then {{ key }}
        when size({{ columns }}) = 1 and {{ plain }} is not null
            then cast(to_json(map(coalesce(get({{ columns }}, 0), ''), {{ plain }})) as binary)
    end
{%- endmacro %}
