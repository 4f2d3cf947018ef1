"""What the connectors of Debezium say in `source` of one row's history, as public reports.

After `SourceInfo` of each connector, their pages, and TiCDC's protocol debezium: the members that
tell a place, in a snapshot, while streaming and in an incremental snapshot. `HISTORIES` has them in
the order of the source; the times are equal where another member has to tell the order.
"""

import json
from base64 import b64encode

MOMENT = 1_700_000_000_000
FILE = "mysql-bin.000003"
LSN = "00000027:00000{}:0003".format
BYTES = "00000000:0000{}:0000000000038b5e".format

# (op, members of source, members of transaction), in the order of the source.
SNAPSHOT, INCREMENTAL = {"snapshot": "first"}, {"snapshot": "incremental"}


def binlog(op, file, pos, row, **more):
    return op, {"server_id": 7, "gtid": None, "file": file, "pos": pos, "row": row, **more}


BINLOG = [
    binlog("r", FILE, 157, 0, **SNAPSHOT),
    binlog("u", FILE, 484, 0),
    binlog("u", FILE, 484, 1),
    # The window of the chunk closes at an event; the row is sent before the event is.
    binlog("r", FILE, 1900, 0, **INCREMENTAL),
    binlog("u", FILE, 1900, 0),
    binlog("u", "mysql-bin.000010", 4, 0),
]


def postgres(op, sequence, lsn, **more):
    members = {"schema": "public", "txId": None if lsn is None else 600, "lsn": lsn, "xmin": None}
    return op, {"sequence": sequence, **members, **more}


def sqlserver(op, commit, change, number, **more):
    members = {"change_lsn": change, "commit_lsn": commit, "event_serial_no": number}
    return op, {"schema": "dbo", **members, **more}


def committed(op, commit, change, **more):
    return op, {"schema": "inf", "commit_lsn": commit, "change_lsn": change, **more}


def oracle(op, scn, commit, number, **more):
    return op, {"schema": "SHOP", "scn": scn, "commit_scn": commit, "txSeq": number, **more}


def vitess(op, second, *ordered):
    names = ("transaction_epoch", "transaction_rank", "total_order")
    block = dict(zip(names, ordered, strict=False))
    source = {"ts_ms": MOMENT + second, "keyspace": "shop", "shard": "-80", "vgtid": "[]"}
    return op, source, {"id": "[]", **block} if block else None


def at(op, nanoseconds, **more):
    """Members of a connector that says the time alone; to the microsecond since Debezium 2.6."""
    source = {"ts_ms": MOMENT, "ts_us": MOMENT * 1000, "ts_ns": MOMENT * 1_000_000 + nanoseconds}
    return op, source | more


HISTORIES = {
    "mysql": BINLOG,
    "mariadb": BINLOG,
    "postgresql": [
        postgres("r", '[null,"1000"]', 1000, **SNAPSHOT),
        # The first transaction may begin where the snapshot was taken.
        postgres("u", '[null,"1000"]', 1000),
        postgres("u", '[null,"1008"]', 1008),
        postgres("u", '["1100","1060"]', 1060),
        postgres("r", '["1200","1300"]', None, **INCREMENTAL),
        postgres("u", '["1200","1310"]', 1310),
        # A blocking snapshot, and a transaction that was open while it was taken.
        postgres("r", '["1400","1600"]', 1600, snapshot="true"),
        postgres("u", '["1400","1500"]', 1500),
    ],
    "sqlserver": [
        sqlserver("r", LSN(758), None, None, **SNAPSHOT),
        sqlserver("u", LSN(760), LSN(759), 1),
        sqlserver("u", LSN(760), LSN(759), 2),
        sqlserver("r", LSN("77a"), LSN(779), 1, **INCREMENTAL),
        sqlserver("u", LSN("77a"), LSN(779), 1),
    ],
    "db2": [
        committed("r", BYTES("0000"), None, **SNAPSHOT),
        committed("u", BYTES("00ff"), BYTES("0001")),
        committed("u", BYTES("00ff"), BYTES("000a")),
        committed("u", BYTES("0100"), "00000000:00000100:0001"),
        committed("r", BYTES("0200"), BYTES("01ff"), **INCREMENTAL),
        committed("u", BYTES("0200"), BYTES("01ff")),
    ],
    "informix": [
        committed("r", "99", "99", **SNAPSHOT),
        committed("u", "627404540760620", "627404540760613", txId="7", begin_lsn="1"),
        committed("u", "627404540760620", "627404540760614", txId="7", begin_lsn="1"),
        committed("u", "1627404540770620", "1627404540770613"),
    ],
    "oracle": [
        oracle("r", "1000", None, None, **SNAPSHOT),
        # Of a transaction that was open while the snapshot was taken.
        oracle("u", "990", "1010", 1),
        oracle("u", "990", "1010", 2),
        oracle("u", "1020", "1030,1025", 1),  # of a cluster: no number
        oracle("r", "2000", "2000", 1, **INCREMENTAL),
        oracle("u", "1999", "2000", 1),
    ],
    "vitess": [vitess("r", 0), vitess("u", 1), vitess("u", 2)],
    "vitess_ordered": [
        vitess("r", 9),
        vitess("u", 1, 0, 68, 1),
        vitess("u", 1, 0, 68, 2),
        vitess("u", 0, 0, 100, 1),
        vitess("u", 0, 1, 5, 1),
    ],
    "spanner": [
        at("c", 0, sequence="0", project_id="p", mod_number=0),
        at("u", 0, sequence="2", project_id="p", mod_number=0),
        at("u", 0, sequence="10", project_id="p", mod_number=0),
        at("u", 1000, sequence="0", project_id="p", mod_number=0),
    ],
    "cockroachdb": [
        at("r", 0, sequence="[]", schema="public", cluster="c", resolved_ts=None, ts_hlc=None),
        at("u", 1, sequence="[]", schema="public", cluster="c", resolved_ts=None, ts_hlc=None),
    ],
    "yugabytedb": [
        at("r", 0, lsn="1:1::0:0", sequence='[null,"1:1::0:0"]', commit_time=6_999, **SNAPSHOT),
        at("u", 0, lsn="1:2::0:0", sequence='["1:1::0:0","1:2::0:0"]', commit_time=7_000),
        at("u", 0, lsn="1:3::0:0", sequence='["1:2::0:0","1:3::0:0"]', commit_time=10_000),
    ],
    "db2as400": [
        at("c", 0, sequence="82", receiver="R1", receiver_library="L"),
        at("u", 0, sequence="100", receiver="R1", receiver_library="L"),
    ],
    "yashandb": [
        at("c", 0, position_scn=828249295637925888, group_lsn=1, group_offset=220),
        at("u", 1000, position_scn=828249295637925889, group_lsn=2, group_offset=10),
    ],
    "TiCDC": [
        ("c", {"file": "", "pos": 0, "row": 0, "commit_ts": 445644800000000001}),
        ("u", {"file": "", "pos": 0, "row": 0, "commit_ts": 445644800000000002}),
        ("d", {"file": "", "pos": 0, "row": 0, "commit_ts": 445644800000000010}),
        ("c", {"file": "", "pos": 0, "row": 0, "commit_ts": 445644800000000010}),
    ],
}
# Flink's copy of the connector of MySQL: a snapshot has no file.
HISTORIES["mysql_flink"] = [binlog("r", "", 0, 0, ts_ms=0), *BINLOG[1:3]]
# Debezium before 1.7 has no sequence, and before 2.6 milliseconds alone.
HISTORIES["postgresql_old"] = [
    ("r", {"schema": "public", "lsn": 1000}),
    ("u", {"schema": "public", "lsn": 1008}),
]
OPERATIONS = {"r": "snapshot", "c": "insert", "u": "update", "d": "delete"}


def reports():
    """Return a report of each connector, without schemas and with them."""
    return [
        report(name, steps, is_wrapped)
        for name, steps in HISTORIES.items()
        for is_wrapped in (False, True)
    ]


def report(name, steps, is_wrapped):
    """Return the report of a history: delivered from its last change to the first, then the other
    messages of the connector."""
    topic = f"dbz_{name.lower()}_{'schemas' if is_wrapped else 'plain'}"
    connector = name if name == "TiCDC" else name.partition("_")[0]
    key = whole({"id": 1}, [ID], is_wrapped)
    changes, expected = [], []
    for number, step in reversed(list(enumerate(steps))):
        envelope = change(connector, topic, number, *step)
        images = [{"type": "struct", "fields": [ID, V], "optional": True, "field": "after"}]
        changes.append((key, whole(envelope, images, is_wrapped)))
        row = {"id": "1", "v": str(number)}
        expected.append(
            {
                "kind": "row_change",
                "operation": OPERATIONS[step[0]],
                "database_name": "shop",
                "table_name": topic,
                "key_columns": ["id"],
                "before" if step[0] == "d" else "after": row,
                "source_type": connector,
            }
        )
    said = [*MARKS, *marks_of(connector, topic, steps[-1][1])]
    marks = [(other, whole(each, [], is_wrapped), kind) for other, each, kind in said]
    marks.append((key, None, "control"))
    if is_wrapped:
        marks.append((key, b'{"schema":null,"payload":null}', "control"))
    sent = [*changes, *((other, value) for other, value, _ in marks)]
    return {
        "name": topic,
        "trait": f"what the connector of {name} says in source",
        "reported": "Debezium, SourceInfo of the connector",
        "route": "debezium_json,,,,shop,,,,,,",
        "messages": [
            {"key_base64": base64(key), "value_base64": base64(value)} for key, value in sent
        ],
        "expected": [[row] for row in (*expected, *({"kind": kind} for _, _, kind in marks))],
        "order": list(reversed(range(len(steps)))),
    }


def marks_of(connector, table, source):
    """Return a schema change and a TRUNCATE of the connectors that write one, at a place."""
    found, place = [], change(connector, table, 0, "t", source)
    if connector in ("mysql", "mariadb", "sqlserver", "oracle", "db2", "informix"):
        ddl = {"databaseName": "shop", "schemaName": None, "ddl": f"ALTER TABLE {table} ADD x INT"}
        said = {"source": place["source"], "ts_ms": MOMENT, **ddl, "tableChanges": []}
        found.append((b'{"databaseName":"shop"}', said, "schema_change"))
    if connector in ("mysql", "mariadb", "postgresql", "oracle"):
        found.append((None, {**place, "after": None}, "truncate"))
    return found


ID = {"type": "int32", "optional": False, "field": "id"}
V = {"type": "int32", "optional": True, "field": "v"}
MARKS = [
    (b'{"serverName":"srv"}', {"ts_ms": MOMENT}, "heartbeat"),
    (None, {"status": "BEGIN", "id": "571:1", "ts_ms": MOMENT}, "transaction_begin"),
    (
        None,
        {
            "status": "END",
            "id": "571:1",
            "ts_ms": MOMENT,
            "event_count": 1,
            "data_collections": [{"data_collection": "public.t", "event_count": 1}],
        },
        "transaction_end",
    ),
]


def change(connector, table, number, op, source, transaction=None):
    row, db = {"id": 1, "v": number}, "" if connector in ("vitess", "yashandb") else "shop"
    common = {"version": "3.1.0.Final", "connector": connector, "name": "srv", "ts_ms": MOMENT}
    return {
        "before": row if op == "d" else None,
        "after": None if op == "d" else row,
        "source": {**common, "snapshot": "false", "db": db, "table": table, **source},
        "op": op,
        "ts_ms": MOMENT + 789,
        "transaction": transaction,
    }


def whole(payload, fields, is_wrapped):
    """Return a value of Kafka Connect's JsonConverter, as bytes."""
    schema = {"type": "struct", "fields": fields, "optional": False}
    return json.dumps({"schema": schema, "payload": payload} if is_wrapped else payload).encode()


def base64(value):
    return None if value is None else b64encode(value).decode()
