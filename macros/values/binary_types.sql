{#- The pattern of column types that hold bytes, case aside; a branch for each first letter, as most types have none of these. -#}
{% macro binary_types() -%}
    (?:b(?:lob|inary|yte[as])|geom(?:etry|(?:etry)?collection)|l(?:ong(?:blob| raw| (?:var)?binary)|inestring)|m(?:ediumblob|ulti(?:point|linestring|polygon))|po(?:int|lygon)|raw|tinyblob|varbinary)\b
{%- endmacro %}
