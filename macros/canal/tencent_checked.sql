{#-
    Messages of Tencent's Canal JSON, where `json_problem` also tells what only its other mode or another vendor writes: bytes that
    are no hexadecimal text, a TIMESTAMP without zone +00:00, a change without `id`. Needs the columns json and json_problem of
    `json_messages` with `canal_fields`.
-#}
{% macro tencent_checked(messages) -%}
select
    * except (json_problem, unlike),
    coalesce(
        json_problem,
        case
            when json.id is null and json.type not in ('GTID', 'XACOMMIT', 'XAROLLBACK', 'MHEARTBEAT')
                then {{ problem('wrong_type', "json.type || ' without an id'") }}
            when size(unlike) > 0
                then {{ problem('wrong_type', "printf('column %s of type %s is not of the partially compatible mode: %s', get(unlike, 0).name, get(unlike, 0).type, get(unlike, 0).text)") }}
        end
    ) as json_problem
from (
    select
        *,
        filter(
            flatten(
                transform(
                    map_entries(map_filter(json.mysqltype, (name, type) -> type rlike r'(?i)^({{ binary_types() }}|timestamp)')),
                    typed -> transform(
                        concat(coalesce(json.data, array()), coalesce(json.old, array())),
                        image -> struct(typed.key as name, typed.value as type, image[typed.key] as text)
                    )
                )
            ),
            sent -> if(
                sent.type rlike '(?i)^timestamp',
                not sent.text rlike r'^([0-9]{4}(-[0-9]{2}){2} [0-9]{2}(:[0-9]{2}){2}(\.[0-9]{1,9})? ?[+]00:00|0000-00-00 00:00:00(\.0{1,9})?)\z',
                length(sent.text) % 2 = 1 or not sent.text rlike r'^(0[xX])?[0-9a-fA-F]*+\z'
            )
        ) as unlike
    from {{ messages }}
)
{%- endmacro %}
