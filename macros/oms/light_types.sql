{#- What the `__light_type` of an OMS image says of each column, null where it is no object of objects. -#}
{% macro light_type_members(image) -%}
    from_json({{ image }}['__light_type'], 'map<string, map<string, string>>')
{%- endmacro %}

{#- Column name to type out of `light_type_members`. -#}
{% macro light_types(members_of_columns) -%}
    transform_values({{ members_of_columns }}, (name, members) -> members['schemaType'])
{%- endmacro %}

{#- Whether `light_type_members` gives one column two types. -#}
{% macro has_two_types(members_of_columns) -%}
    exists(map_values({{ members_of_columns }}), members -> {{ is_ambiguous('members') }})
{%- endmacro %}

{#- An OMS image without the member that is no column. -#}
{% macro without_light_type(image) -%}
    map_filter({{ image }}, (name, text) -> name <> '__light_type')
{%- endmacro %}
