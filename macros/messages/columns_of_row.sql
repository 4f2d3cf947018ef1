{#-
    Names of columns as a row spells them, array<string>. What names them may write them in another case than the row: the key of a
    message, or a route. A name that the row does not have becomes the one column that it equals but for case; of several, and of
    none, it stays as it is. `columns` are the names in the images of the row, each once or twice.
-#}
{% macro columns_of_row(names, columns) -%}
    {%- set alike = "array_distinct(filter(" ~ columns ~ ", spelling -> lower(spelling) = lower(name)))" -%}
    if(
        size(array_except({{ names }}, {{ columns }})) > 0,
        transform(
            {{ names }},
            name -> if(
                array_contains({{ columns }}, name),
                name,
                {{ worked_out_once('alike', alike, 'if(size(alike) = 1, get(alike, 0), name)') }}
            )
        ),
        {{ names }}
    )
{%- endmacro %}

{#- The names of the columns of some images of a row; a name that two of them have comes twice. -#}
{% macro names_in(images) -%}
    {%- for image in images -%}
        map_keys(coalesce({{ image }}, map())){{ ' || ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
