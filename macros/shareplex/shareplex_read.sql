{#-
    What SharePlex messages say: their fields, and when and where the change was made. OMS writes the text `null` for a field that
    it does not know. Needs the columns time_zone and json, with the fields meta, data, key and sql.
-#}
{% macro shareplex_read(messages) -%}
select
    *,
    json.*,
    json.meta['op'] as op,
    nullif(nullif(json.meta['time'], ''), 'null') as time,
    {{ shareplex_timestamp('time', 'time_zone') }} as committed_at,
    nullif(nullif(json.meta['posttime'], ''), 'null') as posttime,
    {{ shareplex_timestamp('posttime', 'time_zone') }} as produced_at,
    nullif(nullif(json.meta['scn'], ''), 'null') as scn,
    nullif(nullif(json.meta['seq'], ''), 'null') as seq,
    try_cast(seq as bigint) as transaction_row,
    nullif(nullif(json.meta['trans'], ''), 'null') as transaction_id
from {{ messages }}
{%- endmacro %}
