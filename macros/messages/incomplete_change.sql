{#-
    Why a change cannot be assigned to a table: struct<code, detail>, null if it can. `operation` is the message's own word; the
    other arguments are columns of the step that reads the message.
-#}
{% macro incomplete_change(operation, kind='kind', database='source_database', table='source_table', statement='statement') -%}
    case
        when {{ kind }} in ('row_change', 'truncate') and {{ table }} is null
            then {{ problem('missing_table', operation ~ " || ' without a table'") }}
        when {{ kind }} in ('row_change', 'truncate') and {{ database }} is null
            then {{ problem('missing_database', operation ~ " || ' without a database: name it in seeds/topics.csv'") }}
        when {{ kind }} = 'schema_change' and nullif({{ statement }}, '') is null
            then {{ problem('missing_ddl', operation ~ " || ' without the text of a statement'") }}
    end
{%- endmacro %}
