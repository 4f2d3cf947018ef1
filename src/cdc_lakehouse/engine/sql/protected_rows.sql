{#-
    The rows of a step of silver as seeds/protected_columns.csv wants them in a layer, silver or gold. Python sees only the
    rows of tables that have a protected column. A rejected message may have a value in what was found in it. Rows that are
    stored may have been protected before, by the first lines: so many are `done`.
-#}
{% macro protected_rows(step, layer, protection, done=0) -%}
{%- if not protection.of(layer, done) -%}
select * from {{ step }}
{%- else -%}
select
    * except (before, after, column_types, reject_detail, is_protected, safe),
    if(is_protected, safe.before, before) as before,
    if(is_protected, safe.after, after) as after,
    if(is_protected, safe.column_types, column_types) as column_types,
    {{ without_values('reject_reason', 'reject_detail') }} as reject_detail
from (
    select
        *,
        protected_images(
            if(is_protected, {{ protection.rules(done) | quoted }}, null),
            '{{ layer }}', -- {{ protection.digest }}
            '{{ protection.key_number }}',
            if(is_protected, array(database_name, schema_name, table_name), null),
            if(is_protected, key_columns, null),
            if(is_protected, before, null),
            if(is_protected, after, null),
            if(is_protected, column_types, null)
        ) as safe
    -- A generator, for Spark would write all steps before into each argument of the function, thousands of times.
    from {{ step }}
    lateral view explode(
        array(coalesce(kind = 'row_change' and ({{ protection.covers(layer, done) }}), false))
    ) as is_protected
)
{%- endif -%}
{%- endmacro %}

{#- What was found in a rejected message, without the texts and numbers that it quotes. -#}
{% macro without_values(code, detail) -%}
    {%- set texts = '(?s)"(?:[^"\\\\]|\\\\.)*"?|\'(?:[^\'\\\\]|\\\\.)*\'?' | quoted -%}
    {%- set unquoted = "regexp_replace(regexp_replace(" ~ detail ~ ", " ~ texts ~ ", '…'), '(?s)comes twice, as .*', 'comes twice')" -%}
    case
        when {{ code }} = 'wrong_type' then regexp_replace({{ unquoted }}, '[0-9]', '0')
        when {{ code }} in ('duplicate_keys', 'not_text', 'not_json', 'not_utf8', 'not_avro', 'not_protobuf') then {{ unquoted }}
        else {{ detail }}
    end
{%- endmacro %}
