{#- The text that a gold column was made from: that of the source column of its name, or of `meta: {source: ...}`. -#}
{% macro source_text(column) -%}
    _image[{{ source_name(column) }}]
{%- endmacro %}

{% macro source_name(column) -%}
    {{ text_literal((column.meta or {}).get('source', column.name)) }}
{%- endmacro %}

{#- Whether a column's type was inferred from values, `meta: {inferred: true}`: then a value must keep its text. -#}
{% macro is_inferred(column) -%}
    {{ return((column.meta or {}).get('inferred', false)) }}
{%- endmacro %}

{#-
    Why a value does not fit its column's type, null if it does: zero_date, out_of_range, loses_digits or invalid; altered where
    the type was inferred and would write the text otherwise (01234 as 1234), but for zeros behind the point; not_carried where
    the change carries a part only of the source columns that it is made from.
    A value counts as lost where the source has a text and the projection gives null, or gives fewer digits. Most values can
    have lost none: the text, for which the image is searched, is not asked for then.
-#}
{% macro value_problem(column, reads=[]) -%}
    {%- set text, value = source_text(column), adapter.quote(column.name) -%}
    {%- set data_type = column.data_type | lower -%}
    case
        when {{ value }} is null then
            case
                when {{ text }} is null then {{ "case when " ~ adapter.is_half_carried(reads) ~ " then 'not_carried' end" if reads | length > 1 else 'null' }}
                when {{ text }} rlike '^0000-00-00|^[0-9]{4}-00-|^[0-9]{4}-[0-9]{2}-00' then 'zero_date'
                when {{ text }} rlike r'^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$' then 'out_of_range'
                else 'invalid'
            end
        {%- if data_type.startswith('decimal') %}
        {%- set precision, scale = (data_type ~ '(10,0)').split('(')[1].split(')')[0].split(',') %}
        when {{ text }} = cast({{ value }} as string) then null
        when length(regexp_extract({{ text }}, r'^[^eE.]*\.([0-9]*?)0*$', 1)) > {{ scale | trim }} then 'loses_digits'
        when {{ value }} <> try_cast({{ text }} as decimal(38, {{ 38 - (precision | int) + (scale | int) }})) then 'loses_digits'
        {%- elif data_type == 'date' %}
        when {{ text }} rlike '[ T].*[1-9]' then 'loses_digits'
        {%- elif data_type.startswith('timestamp') %}
        when length(regexp_extract({{ text }}, r'\.([0-9]*?)0*$', 1)) > 6 then 'loses_digits'
        {%- endif %}
        {%- if is_inferred(column) and data_type.startswith('decimal') %}
        when not startswith(cast({{ value }} as string), {{ text }}) then 'altered'
        {%- elif is_inferred(column) %}
        when {{ text }} <> cast({{ value }} as string) then 'altered'
        {%- endif %}
    end
{%- endmacro %}
