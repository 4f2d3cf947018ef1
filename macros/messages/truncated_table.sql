{#- The table that a TRUNCATE statement names, for messages that do not; null if there is none. -#}
{% macro truncated_table(statement) -%}
    nullif(
        regexp_extract(
            {{ statement }},
            r'(?is)\btruncate\s++(?:table\s++)?(?:[`"]?[^`"\s.;]++[`"]?\s*+\.\s*+)?[`"]?([^`"\s.;]++)',
            1
        ),
        ''
    )
{%- endmacro %}
