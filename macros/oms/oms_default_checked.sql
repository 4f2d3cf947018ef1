{#-
    OMS Default messages with the reason to reject one in `problem`. `prev_image` and `post_image` are the columns that hold the images.
    Needs the columns of `oms_default_read` and route_problem.
-#}
{% macro oms_default_checked(read, prev_image='prevstruct', post_image='poststruct') -%}
select
    *,
    if(value is null, null, coalesce(
        route_problem,
        json_problem,
        case when kind is null then {{ problem('unknown_operation', "'recordType is ' || coalesce(recordtype, 'missing')") }} end,
        {{ incomplete_change('recordtype') }},
        case
            when recordtype in ('UPDATE', 'DELETE') and coalesce(size({{ prev_image }}), 0) = 0
                then {{ problem('missing_image', "recordtype || ' without prevStruct'") }}
            when kind = 'row_change' and recordtype <> 'DELETE' and coalesce(size({{ post_image }}), 0) = 0
                then {{ problem('missing_image', "recordtype || ' without postStruct'") }}
        end,
        {{ time_problem('timestamp', 'commit_seconds', 'seconds') }},
        case
            when store_sequence is not null and not store_sequence rlike r'^[0-9]{1,30}\z'
                then {{ problem('wrong_type', "'storeDataSequence is ' || store_sequence") }}
        end
    )) as problem
from {{ read }}
{%- endmacro %}
