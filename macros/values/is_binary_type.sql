{#- Whether a column's type, as a message words it, holds bytes. -#}
{% macro is_binary_type(type) -%}
    {{ type }} rlike r'(?i)^{{ binary_types() }}'
{%- endmacro %}

{#- The pattern of such types, case aside; a branch for each first letter, as most types have none of these. -#}
{% macro binary_types() -%}
    (?:b(?:lob|inary|yte[as])|geom(?:etry|(?:etry)?collection)|l(?:ong(?:blob| raw| (?:var)?binary)|inestring)|m(?:ediumblob|ulti(?:point|linestring|polygon))|po(?:int|lygon)|raw|tinyblob|varbinary)\b
{%- endmacro %}
