{#- Why inner objects of a JSON message are ambiguous: struct<code, detail>, null if each names a member once. -#}
{% macro repeated_members(value, paths) -%}
    case
        {%- for path in paths %}
        {%- set keys = "json_object_keys(get_json_object(cast(" ~ value ~ " as string), '" ~ path ~ "'))" %}
        when size(array_distinct({{ keys }})) < size({{ keys }})
            then {{ problem('duplicate_keys', "'a field comes twice in " ~ path ~ ": ' || concat_ws(', ', " ~ keys ~ ")") }}
        {%- endfor %}
    end
{%- endmacro %}
