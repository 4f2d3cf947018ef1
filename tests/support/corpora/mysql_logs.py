"""What those write that read the log of MySQL or of TiDB: Canal and its like, TiCDC, Maxwell."""

import json
import re
from functools import partial

from corpora.base import Corpus, tokens
from corpora.mysql import (
    canal_cell,
    columns,
    maxwell_cell,
    oms_cell,
    simple_cell,
    tencent_cell,
    tidb_cell,
)

SHANGHAI = "Asia/Shanghai"


def route(name, time_zone="", **further):
    """The line of topics.csv of a format, without the topic."""
    given = {"time_zone": time_zone, **further}
    listed = ("time_zone", "avro_schema", "delete_image", "database", "table", "key")
    listed += ("topic_pattern", "operation_column", "sequence_column", "missing_columns")
    return ",".join([name, *(given.get(column, "") for column in listed)])


def changed(change):
    """The columns of the row before that an update changes."""
    after = change.after.cells
    return change.before.only([n for n, cell in change.before.cells.items() if after[n] != cell])


def whole(change):
    return change.before


def row_of(change):
    return change.before if change.operation == "delete" else change.after


def canal_message(table, listed, old=changed, further=None, full_load="INIT"):
    """Canal's envelope: a function of the number of a change and the change."""
    types = {"id": '"bigint(20)"'} | {c.name: json.dumps(c.type) for c in listed}

    def message(number, change):
        is_update = change.operation == "update"
        word = {"snapshot": full_load}.get(change.operation, change.operation.upper())
        return tokens(
            {
                "id": str(1_000 + number),
                "database": '"shop"',
                "table": json.dumps(table),
                "pkNames": '["id"]',
                "isDdl": "false",
                "type": json.dumps(word),
                "es": str(1_700_000_000_000 + number * 1_000),
                "ts": str(1_700_000_000_451 + number * 1_000),
                "sql": '""',
                "sqlType": "null",
                "mysqlType": tokens(types),
                "old": f"[{old(change).sent}]" if is_update else "null",
                "data": f"[{row_of(change).sent}]",
                **(further(number) if further else {}),
            }
        )

    return message


def canal_statement(table, word, sql, **said):
    return tokens(
        {
            "id": "2000",
            "database": '"shop"',
            "table": json.dumps(table),
            "pkNames": "null",
            "isDdl": "true",
            "type": json.dumps(word),
            "es": "1700000000500",
            "ts": "1700000000900",
            "sql": json.dumps(sql),
            "sqlType": "null",
            "mysqlType": "null",
            "data": "null",
            "old": "null",
            **said,
        }
    )


def gold_of(name, **said):
    """Row 1 as it was last written, and row 3, whose columns are null; each value fits its type."""
    return {"table": f"shop.{name}", "rows": [{"id": "1"}, {"id": "3"}], "problems": []} | said


def canal(name, format_name, cell_of, producer, *, full_load="insert", time_zone=SHANGHAI):
    listed = columns(cell_of)
    alter = canal_statement(name, "ALTER", f"alter table {name} add x int")
    schema_change = [{"kind": "schema_change", "table_name": name}]
    return Corpus(
        name,
        producer,
        route(format_name, time_zone),
        listed,
        canal_message(name, listed),
        full_load=full_load,
        further=[(alter, schema_change)],
        gold=gold_of(name) if format_name == "canal" else None,
        says={"key_columns": ["id"], "table_name": name, "database_name": "shop"},
    )


OMS_TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "mediumint": "INT",
    "int": "INT",
    "year": "INT",
    "bigint": "INT64",
    "decimal": "DECIMAL",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bit": "BIT",
    "date": "DATE",
    "time": "TIME",
    "datetime": "DATETIME",
    "timestamp": "TIMESTAMP",
    **dict.fromkeys(("binary", "varbinary"), "BLOB"),
}


def oms_type(mysql_type):
    word = re.match("[a-z]+", mysql_type)[0]
    if mysql_type.endswith("unsigned") and word == "bigint":
        return "BIGINT"
    return OMS_TYPES.get(word, "BLOB" if word.endswith("blob") else "VARCHAR")


def oms_canal(name):
    """OMS's Canal: no number of a batch, types of its own, ROW for a row of the full load."""
    listed = columns(oms_cell, ("geometry",), oms_type)
    return Corpus(
        name,
        "OceanBase OMS, data formats (oceanbase/oms-doc)",
        route("oms_canal"),
        listed,
        canal_message(name, listed, full_load="ROW"),
        full_load="snapshot",
        gold=gold_of(name),
        says={"key_columns": ["id"], "table_name": name},
    )


def commit_ts(number):
    return str(445_644_800_000_000_000 + number)


def tidb(name, *, are_types_full):
    """TiCDC's Canal-JSON with its extension; of types without parameters members stay numbers."""

    def cell_of(kind, value):
        token, held = tidb_cell(kind, value)
        return token, json.loads(token) if kind in ("enum", "set") and not are_types_full else held

    listed = columns(
        cell_of,
        ("geometry",),
        lambda kind: kind if are_types_full else re.sub(r"\(.*\)", "", kind),
    )

    def further(number):
        return {"_tidb": tokens({"commitTs": commit_ts(number)})}

    watermark = '{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,'
    watermark += '"type":"TIDB_WATERMARK","es":1700000000000,"ts":1700000000451,"sql":"",'
    watermark += '"sqlType":null,"mysqlType":null,"data":null,"old":null,'
    watermark += f'"_tidb":{{"watermarkTs":{commit_ts(900)}}}}}'
    return Corpus(
        name,
        "pingcap/tiflow pkg/sink/codec/canal, GetMySQLType with and without contentCompatible",
        route("tidb_canal", SHANGHAI),
        listed,
        canal_message(name, listed, changed if are_types_full else whole, further),
        further=[(watermark, [{"kind": "heartbeat"}])],
        gold=gold_of(name) if are_types_full else None,
        says={"key_columns": ["id"], "source_type": "tidb"},
    )


def simple(name):
    """TiCDC's simple protocol; the route says the key, in another case than the rows."""

    def message(number, change):
        images = {"data": change.after, "old": change.before}
        return tokens(
            {
                "version": "1",
                "database": '"shop"',
                "table": json.dumps(name),
                "tableID": "148",
                "type": json.dumps(change.operation.upper()),
                "commitTs": commit_ts(number),
                "buildTs": "1700000000451",
                "schemaVersion": "445644799999999990",
                **{member: row.sent for member, row in images.items() if row},
            }
        )

    schema = tokens({"schema": '"shop"', "table": json.dumps(name), "tableID": "148"})
    bootstrap = {"version": "1", "type": '"BOOTSTRAP"', "commitTs": "0", "buildTs": "1700000000451"}
    bootstrap["tableSchema"] = schema
    watermark = {"version": "1", "type": '"WATERMARK"', "commitTs": commit_ts(900)}
    return Corpus(
        name,
        "pingcap/tiflow pkg/sink/codec/simple/message.go",
        route("ticdc_simple", key="ID"),
        columns(simple_cell, ("geometry",)),
        message,
        key='"{}"',
        further=[
            (tokens(bootstrap), [{"kind": "control"}]),
            (tokens(watermark | {"buildTs": "1700000000451"}), [{"kind": "heartbeat"}]),
        ],
        says={"key_columns": ["id"], "source_type": "tidb"},
    )


def maxwell(name, *, has_nulls=True):
    """Maxwell's rows; with `output_nulls = false` what is null is left out of both images."""

    def sent(row):
        return (row if has_nulls else row.without_nulls()).sent

    def message(number, change):
        is_load = change.operation == "snapshot"
        said = {
            "database": '"shop"',
            "table": json.dumps(name),
            "type": json.dumps("bootstrap-insert" if is_load else change.operation),
            "ts": str(1_700_000_000 + number),
        }
        if not is_load:
            said |= {"xid": str(900 + number), "commit": "true"}
            said["position"] = json.dumps(f"mysql-bin.000006:{800_000 + number}")
        said |= {"primary_key": "[1]", "primary_key_columns": '["id"]'}
        said["data"] = sent(row_of(change))
        if change.operation == "update":
            said["old"] = sent(changed(change))
        return tokens(said)

    return Corpus(
        name,
        "zendesk/maxwell RowMap.java, MaxwellJson.java, schema/columndef",
        route("maxwell"),
        columns(maxwell_cell),
        message,
        full_load="snapshot",
        key="{}",
        before=partial(maxwell_before, has_nulls),
        after=partial(maxwell_after, has_nulls),
        gold=None if has_nulls else gold_of(name),
        says={"key_columns": ["id"], "source_type": "mysql"},
    )


def maxwell_before(has_nulls, change):
    """Without nulls, a column that was null is told by none: it has the value of the row after."""
    if has_nulls or not change.before:
        return change.before and change.before.held
    after = change.after.without_nulls().held if change.after else {}
    return after | change.before.without_nulls().held


def maxwell_after(has_nulls, change):
    if has_nulls or not change.after:
        return change.after and change.after.held
    known = change.before.without_nulls().held if change.before else {}
    return dict.fromkeys(known) | change.after.without_nulls().held


CORPORA = [
    canal("k01_canal", "canal", canal_cell, "alibaba/canal LogEventConvert, FlatMessage"),
    canal(
        "k02_dts_canal",
        "dts_canal",
        canal_cell,
        "Alibaba Cloud DTS, data formats",
        full_load="snapshot",
    ),
    canal(
        "k03_tencent_canal",
        "tencent_canal",
        tencent_cell,
        "Tencent Cloud DTS, Canal Demo Description",
        full_load="snapshot",
        time_zone="",
    ),
    oms_canal("k17_oms_canal"),
    tidb("k04_ticdc_full_types", are_types_full=True),
    tidb("k05_ticdc_types", are_types_full=False),
    simple("k06_ticdc_simple"),
    maxwell("k07_maxwell"),
    maxwell("k08_maxwell_without_nulls", has_nulls=False),
]
