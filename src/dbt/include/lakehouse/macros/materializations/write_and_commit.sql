{#-
    Run the statement that writes a model's table and commit with it up to which version of `source` the table has read. What
    else it takes is that of `adapter.write_and_commit`.
-#}
{% macro write_and_commit(statement_text, relation, source, version) -%}
    {{ write(statement_text) }}
    {% do store_result('main', response=adapter.write_and_commit(statement_text, relation, source, version, **kwargs)) %}
{%- endmacro %}
