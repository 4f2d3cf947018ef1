{#- Whether a column's type, as a message words it, holds bytes. -#}
{% macro is_binary_type(type) -%}
    {{ type }} rlike r'(?i)^{{ binary_types() }}'
{%- endmacro %}

{#- The pattern of such types, case aside. -#}
{% macro binary_types() -%}
    ((tiny|medium|long)?blob|(long )?(var)?binary|bytes|bytea|(long )?raw|geom(etry|collection)|geometrycollection|(multi)?(point|linestring|polygon))\b
{%- endmacro %}
