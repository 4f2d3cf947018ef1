{#-
    The union of the formats' models and of what has no model, column by column as the contract names them: a union goes by the
    place of a column, and two of one type could change places unseen. A run leaves out the formats that have nothing new:
    Spark takes seconds to plan each of them, though there is nothing to read.
-#}
{% macro results_of(formats, twins={}) -%}
    {%- set read = models_of(formats_to_read(formats), twins) -%}
    {%- for name in models_of(formats, twins) if name in read -%}
    select {{ adapter.silver.columns_of_results(model, name) }} from {{ ref(name) }} as {{ name }}
    union all
    {% endfor -%}
    select {{ adapter.silver.columns_of_results(model, 'unrouted') }} from {{ ref('unrouted') }} as unrouted
{%- endmacro %}

{#- The models that read some formats, each once: `twins` are read by the model of another format. -#}
{% macro models_of(formats, twins) -%}
    {%- set names = [] -%}
    {%- for format in formats -%}
        {%- do names.append(twins.get(format, format)) -%}
    {%- endfor -%}
    {{ return(names | unique | list) }}
{%- endmacro %}

{#- Those of the formats that may have a message to read: in a run what is new, in `dbt show` all of bronze. -#}
{% macro formats_to_read(formats) -%}
    {%- if execute and flags.WHICH in ('run', 'build') -%}
        {{ return(plan_of_change_log().formats) }}
    {%- endif -%}
    {{ return(adapter.silver.formats_landed() if execute and flags.WHICH == 'show' else formats) }}
{%- endmacro %}
