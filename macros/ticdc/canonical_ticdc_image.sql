{#-
    A row image of TiCDC's simple protocol in canonical text: a TIMESTAMP, which comes as an object with its zone, in UTC. The object of a
    zone that Spark does not know, and all other values, stay as sent.
-#}
{% macro canonical_ticdc_image(image) -%}
    {%- set clock -%} regexp_extract(text, r'"value":"([0-9: -]{19})', 1) {%- endset -%}
    {%- set zone -%} regexp_extract(text, r'"location":"([^"]*)', 1) {%- endset -%}
    {%- set fraction -%} regexp_extract(text, r'(\.[0-9]+)"\}\z', 1) {%- endset -%}
    {%- set instant -%} try_to_timestamp({{ clock }} || ' ' || {{ zone }}, 'yyyy-MM-dd HH:mm:ss VV') {%- endset -%}
    transform_values(
        {{ image }},
        (name, text) -> case
            when text not like '{"location":"%' then text
            when text not rlike r'^\{"location":"[^"]*","value":"[0-9: -]{19}(\.[0-9]+)?"\}\z' then text
            when {{ clock }} = '0000-00-00 00:00:00' then {{ clock }}
            else coalesce(date_format({{ instant }}, 'yyyy-MM-dd HH:mm:ss') || {{ trimmed_fraction(fraction) }}, text)
        end
    )
{%- endmacro %}
