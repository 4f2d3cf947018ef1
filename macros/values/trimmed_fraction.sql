{#- The text of a time without the trailing zeros of its fraction of a second; a zone may follow. -#}
{% macro trimmed_fraction(text) -%}
    regexp_replace({{ text }}, r'(\.[0-9]*?[1-9])0+(?= |$)|\.0*(?= |$)', '$1')
{%- endmacro %}
