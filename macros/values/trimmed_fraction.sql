{#- A time's text without the zeros that end its fraction of a second; a zone may follow. -#}
{% macro trimmed_fraction(text) -%}
    regexp_replace({{ text }}, r'(\.[0-9]*?[1-9])0+(?= |$)|\.0*(?= |$)', '$1')
{%- endmacro %}
