{#-
    The columns that an image of GoldenGate carries. `NAME_isMissing`, which `includeIsMissingFields` adds, is no column: it says whether
    the trail lacks NAME, which is null then.
-#}
{% macro goldengate_image(image) -%}
    map_filter(
        {{ image }},
        (name, text) -> not (endswith(name, '_isMissing') and text in ('true', 'false'))
        and not coalesce({{ image }}[name || '_isMissing'] = 'true', false)
    )
{%- endmacro %}
