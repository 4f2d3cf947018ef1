{#-
    The pattern of column types that hold bytes; match it without regard to case. It has one branch per first letter, because most
    types begin with none of these.
-#}
{% macro binary_types() -%}
    (?:b(?:lob|inary|yte[as])|geom(?:etry|(?:etry)?collection)|l(?:ong(?:blob| raw| (?:var)?binary)|inestring)|m(?:ediumblob|ulti(?:point|linestring|polygon))|po(?:int|lygon)|raw|tinyblob|varbinary)\b
{%- endmacro %}
