{#- What the `__light_type` of an OMS image says of each column, null where it is no object of objects. -#}
{% macro light_type_members(image) -%}
    from_json({{ image }}['__light_type'], 'map<string, map<string, string>>')
{%- endmacro %}

{#- Column name to type out of `light_type_members`. -#}
{% macro light_types(members_of_columns) -%}
    transform_values({{ members_of_columns }}, (name, members) -> members['schemaType'])
{%- endmacro %}

{#- Whether `light_types` and its `light_type_members` give one column two types; `exact_json` looks into no object in a text. -#}
{% macro has_two_types(types, members_of_columns) -%}
    {{ has_two_values(types) }} or exists(map_values({{ members_of_columns }}), members -> {{ has_two_values('members') }})
{%- endmacro %}

{% macro has_two_values(object) -%}
    size(array_distinct(map_entries({{ object }}))) > size(array_distinct(map_keys({{ object }})))
{%- endmacro %}

{#- An OMS image without the member that is no column. -#}
{% macro without_light_type(image) -%}
    map_filter({{ image }}, (name, text) -> name <> '__light_type')
{%- endmacro %}
