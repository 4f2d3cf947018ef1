"""The row of a DELETE in `old`, as some writers of every dialect of Canal have it."""

import json

from corpora.mysql_logs import route

DIALECTS = (
    "canal",
    "drs_json",
    "drs_json_c",
    "dts_canal",
    "oceanbase_canal",
    "oms_canal",
    "tencent_canal",
    "tidb_canal",
)
NONE, GONE, OTHER = "null", '[{"id":"2","v":"x"}]', '[{"id":"9","v":"y"}]'


def message(table, number, word, data, old):
    said = {"id": 7 + number, "database": "shop", "table": table, "pkNames": ["id"]}
    said |= {"type": word, "es": 1_700_000_000_000 + number, "ts": 1_700_000_000_451}
    text = json.dumps(said, separators=(",", ":"))
    return f'{text[:-1]},"data":{data},"old":{old}}}'


def report(dialect, name, delete_image):
    """A row that is inserted and deleted; where the route names the field, the other is filled."""
    other = OTHER if delete_image else NONE
    lines = [message(name, 0, "INSERT", GONE, NONE), message(name, 1, "DELETE", other, GONE)]
    row = {"id": "2", "v": "x"}
    said = {"kind": "row_change", "table_name": name, "key_columns": ["id"]}
    return {
        "name": name,
        "trait": "a DELETE whose row stands in old",
        "reported": "older Flink CDC pipelines; Alibaba Cloud DTS before 2022-03-20; Huawei DRS",
        "route": route(dialect, delete_image=delete_image),
        "file": "".join(f"{line}\n" for line in lines),
        "expected": [
            [{**said, "operation": "insert", "before": None, "after": row}],
            [{**said, "operation": "delete", "before": row, "after": None}],
        ],
    }


def changelog():
    """Flink SQL names no table, and has no numbers."""
    rows = {"INSERT": f'"data":{GONE}', "DELETE": f'"data":{OTHER},"old":{GONE}'}
    name = "l_flink_changelog_by_route"
    made = report("flink_changelog", name, "old")
    given = {"database": "shop", "table": name, "key": "id", "delete_image": "old"}
    return made | {
        "route": route("flink_changelog", **given),
        "file": "".join(f'{{{row},"type":"{word}"}}\n' for word, row in rows.items()),
    }


REPORTS = [
    *(report(dialect, f"l_{dialect}", "") for dialect in DIALECTS),
    *(report(dialect, f"l_{dialect}_by_route", "old") for dialect in DIALECTS),
    changelog(),
]
