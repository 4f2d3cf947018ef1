{#- What a DDL statement renames columns to: array<struct<previous_name, name>>, empty if it renames none. -#}
{% macro renamed_columns(statement) -%}
    if(
        {{ statement }} rlike r'(?is)^\s*+alter\s',
        concat(
            {{ pairs_of_names(statement, '\\brename\\s++(?:column\\s++)?+(?:if\\s++exists\\s++)?+', '\\s++to\\s++') }},
            {{ pairs_of_names(statement, '\\bchange\\s++(?:column\\s++)?+(?:if\\s++exists\\s++)?+', '\\s++') }}
        ),
        array()
    )
{%- endmacro %}

{#- What a DDL statement renames tables to, in the same form: `alter table a rename to b`, `rename table a to b, c to d`. -#}
{% macro renamed_tables(statement) -%}
    if(
        {{ statement }} rlike r'(?is)^\s*+rename\s',
        {{ pairs_of_names(statement, '(?:^\\s*+rename\\s++(?:tables?\\s++)?+(?:if\\s++exists\\s++)?+|,\\s*+)', '\\s++to\\s++') }},
        {{ pairs_of_names(
            statement,
            '^\\s*+alter\\s++table\\s++(?:if\\s++exists\\s++|only\\s++)*+',
            '\\s.*?\\brename\\s++(?:to\\s++|as\\s++|=\\s*+)?+',
            '\\s*+(?:$|[,;])'
        ) }}
    )
{%- endmacro %}

{#- A statement without its comments and quoted texts, in which words could be taken for its own. -#}
{% macro bare_statement(ddl) -%}
    regexp_replace(
        {{ ddl }},
        r'(?s)(`[^`]*+`|"[^"]*+")|\x27(?:[^\x27\\]++|\\.|\x27\x27)*+\x27|/\*.*?\*/|--[^\n]*+|(?<!\S)#[^\n]*+',
        '$1 '
    )
{%- endmacro %}

{#- The pairs of names, quoted or not and without qualifiers, that stand in a statement between three patterns. -#}
{% macro pairs_of_names(statement, before, between, after='') -%}
    {%- set name -%} (?:`[^`]++`|"[^"]++"|[^\s`".,;()]++) {%- endset -%}
    {%- set table -%} (?:{{ name }}\s*+\.\s*+)*({{ name }}) {%- endset -%}
    {%- set pattern -%} r'(?is){{ before }}{{ table }}{{ between }}{{ table }}{{ after }}' {%- endset -%}
    zip_with(
        regexp_extract_all({{ statement }}, {{ pattern }}, 1),
        regexp_extract_all({{ statement }}, {{ pattern }}, 2),
        (previous_name, name) -> struct(translate(previous_name, '`"', '') as previous_name, translate(name, '`"', '') as name)
    )
{%- endmacro %}

{#- Whether a statement names a table or column, as a whole word. -#}
{% macro mentions(statement, name) -%}
    {{ statement }} rlike (r'(?iU)(?<![\w$#])\Q' || replace({{ name }}, r'\E', r'\E\\E\Q') || r'\E(?![\w$#])')
{%- endmacro %}
