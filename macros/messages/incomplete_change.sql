{#-
    Why a change cannot be told to its table: struct<code, detail>, null if it can. `operation` is the message's own word;
    `kind`, `source_database`, `source_table` and `statement` are columns of the step before.
-#}
{% macro incomplete_change(operation) -%}
    case
        when kind in ('row_change', 'truncate') and source_table is null
            then {{ problem('missing_table', operation ~ " || ' without a table'") }}
        when kind in ('row_change', 'truncate') and source_database is null
            then {{ problem('missing_database', operation ~ " || ' without a database: name it in seeds/topics.csv'") }}
        when kind = 'schema_change' and nullif(statement, '') is null
            then {{ problem('missing_ddl', operation ~ " || ' without the text of a statement'") }}
    end
{%- endmacro %}
