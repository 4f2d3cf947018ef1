{#- Whether a column's type, as a message words it, holds bytes. -#}
{% macro is_binary_type(type) -%}
    {{ type }} rlike r'(?i)^((tiny|medium|long)?blob|(long )?(var)?binary|bytes|bytea|(long )?raw|geom(etry|collection)|geometrycollection|(multi)?(point|linestring|polygon))\b'
{%- endmacro %}
