{#- Column name to type out of the `__light_type` of an OMS image, null where it is no object of types. -#}
{% macro light_types(image) -%}
    transform_values({{ light_type_members(image) }}, (name, members) -> members['schemaType'])
{%- endmacro %}

{% macro light_type_members(image) -%}
    from_json({{ image }}['__light_type'], 'map<string, map<string, string>>')
{%- endmacro %}

{#- Whether `__light_type` gives one column two types. -#}
{% macro has_ambiguous_light_type(image) -%}
    exists(map_values({{ light_type_members(image) }}), members -> {{ is_ambiguous('members') }})
{%- endmacro %}

{#- An OMS image without the member that is no column. -#}
{% macro without_light_type(image) -%}
    map_filter({{ image }}, (name, text) -> name <> '__light_type')
{%- endmacro %}
