{#-
    The field that holds the rows of a Canal message: `data`, but for a deleted row whichever the route says, else the one
    where the dialect has it, else the other.
-#}
{% macro field_of_rows(deleted_row_in) -%}
    {%- set other = {'data': 'old', 'old': 'data'}[deleted_row_in] -%}
    if(json.type = 'DELETE', coalesce(delete_image, if(size(json.{{ deleted_row_in }}) > 0, '{{ deleted_row_in }}', '{{ other }}')), 'data')
{%- endmacro %}
