{#-
    Why a row cannot be assigned to a table or to its key, if its route alone names these: struct<code, detail>, null if it can.
    `image` is the row. It may spell the names of the key in another case.
-#}
{% macro incomplete_route(image, table='route_table', database='route_database', key='route_key') -%}
    {%- set names = "map_keys(" ~ image ~ ")" -%}
    {%- set lacking = "filter(" ~ key ~ ", name -> not exists(" ~ names ~ ", spelling -> lower(spelling) = lower(name)))" -%}
    case
        when {{ table }} is null
            then {{ problem('missing_table', "'rows name no table: give table or topic_pattern in seeds/topics.csv'") }}
        when {{ database }} is null
            then {{ problem('missing_database', "'rows name no database: give database or topic_pattern in seeds/topics.csv'") }}
        when size({{ image }}) > 0 and size(array_except({{ key }}, {{ names }})) > 0 and size({{ lacking }}) > 0
            then {{ problem('missing_image', "'the row lacks ' || array_join(" ~ lacking ~ ", ', ') || ', of key in seeds/topics.csv'") }}
    end
{%- endmacro %}
