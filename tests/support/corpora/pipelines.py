"""What programs write that move changes on: Flink, SeaTunnel, GoldenGate, DMS, Datastream."""

import json

from corpora.base import Corpus, column, tokens
from corpora.mysql_logs import gold_of, route, row_of

# Flink's JSON: numbers bare, bytes in Base64, nested values as JSON. BigDecimal prints exponents.
FLINK_TYPES = [
    column("a_char", "CHAR(3)", '"abc"', '"\\u00fc  "'),
    column("a_varchar", "VARCHAR(9)", '""', '"null"'),
    column("a_string", "STRING", '"{\\"a\\":1}"', '"a \\"b\\" \\\\"'),
    column("a_boolean", "BOOLEAN", "true", "false"),
    column("a_binary", "BINARY(3)", '"AP8B"', '"AAAA"'),
    column("a_bytes", "BYTES", '""', '"AAECAw=="'),
    column("a_decimal", "DECIMAL(38,18)", "12345678901234567890.123456789012345678", "0E-18"),
    column("a_price", "DECIMAL(10,2)", "1.50", "-0.10"),
    column("a_tinyint", "TINYINT", "-128", "127"),
    column("a_smallint", "SMALLINT", "-32768", "32767"),
    column("an_int", "INT", "-2147483648", "2147483647"),
    column("a_bigint", "BIGINT", "-9223372036854775808", "9223372036854775807"),
    column("an_unsigned", "DECIMAL(20,0)", "18446744073709551615", "0"),
    column("a_float", "FLOAT", "3.4028235E38", "1.17549435E-38"),
    column("a_double", "DOUBLE", "1.7976931348623157E308", "-0.0"),
    column("a_date", "DATE", '"0001-01-01"', '"9999-12-31"'),
    column("a_time", "TIME(3)", '"00:00:00"', '"23:59:59.999"'),
    column("a_clock", "TIMESTAMP(6)", '"2026-11-05 12:00:00.5"', '"1969-12-31 23:59:59.999999"'),
    column("a_moment", "TIMESTAMP_LTZ(3)", '"2026-11-05 12:00:00.5Z"', '"1970-01-01 00:00:00Z"'),
    column("an_array", "ARRAY<INT>", "[1,null,3]", "[]"),
    column("a_map", "MAP<STRING,DECIMAL(9,2)>", '{"a":1.50,"b":null}', "{}"),
    column("a_row", "ROW<a INT, b ROW<c STRING>>", '{"a":1,"b":{"c":"x"}}', '{"a":null,"b":null}'),
]


def flink_pipeline(name, *, delete_in="data", has_nulls=True, delete_image=""):
    """The canal-json of Flink CDC's Kafka sink: no number, no time, `old` has the whole row."""

    def rows(row):
        return f"[{(row if has_nulls else row.without_nulls()).sent}]" if row else "null"

    def message(number, change):
        is_delete = change.operation == "delete"
        images = {"old": change.before, "data": row_of(change)}
        if is_delete:
            images = {"old": None, "data": None, delete_in: change.before}
        said = {member: rows(row) for member, row in images.items() if row or has_nulls}
        word = json.dumps(change.operation.upper())
        said |= {"type": word, "database": '"shop"', "table": json.dumps(name)}
        return tokens(said | {"pkNames": '["id"]'})

    def held(row, other):
        if has_nulls or not row:
            return row and row.held
        known = other.without_nulls().held if other else {}
        return dict.fromkeys(known) | row.without_nulls().held

    return Corpus(
        name,
        "apache/flink-cdc CanalJsonSerializationSchema, RecordDataConverter",
        route("canal", delete_image=delete_image, missing_columns="" if has_nulls else "null"),
        FLINK_TYPES,
        message,
        key="{}",
        before=lambda change: held(change.before, change.after),
        after=lambda change: held(change.after, change.before),
        gold=None if has_nulls else gold_of(name),
        says={"key_columns": ["id"], "committed_at": None},
    )


# Word, and the members of the row before and after, of the formats of Flink SQL.
FLINK_FORMATS = (
    ("op", {"insert": '"c"', "delete": '"d"'}, "before", "after"),
    ("type", {"insert": '"INSERT"', "delete": '"DELETE"'}, None, None),
    ("op_type", {"insert": '"I"', "delete": '"D"'}, "before", "after"),
    ("type", {"insert": '"insert"', "delete": '"delete"'}, None, None),
    ("op", {"insert": '"+I"', "delete": '"-D"'}, None, None),
)


def flink_sql(name):
    """The five formats of changelogs in turn; an update is a delete and an insert."""

    def message(number, change):
        word, words, before, after = FLINK_FORMATS[number % len(FLINK_FORMATS)]
        is_list = words["insert"] == '"INSERT"'
        row = row_of(change).sent
        if before:
            is_delete = change.operation == "delete"
            rows = {before: row if is_delete else "null", after: "null" if is_delete else row}
        else:
            rows = {"data": f"[{row}]" if is_list else row}
        return tokens(rows | {word: words[change.operation]})

    return Pairs(
        name,
        "apache/flink JSON formats, RowDataToJsonConverters",
        route("flink_changelog", database="shop", table=name, key="ID"),
        FLINK_TYPES,
        message,
        key="{}",
        says={"key_columns": ["id"], "table_name": name},
    )


def seatunnel(name):
    """SeaTunnel's canal_json: an update is a DELETE and an INSERT; no key, no types."""

    def message(number, change):
        said = {"data": f"[{row_of(change).sent}]", "type": json.dumps(change.operation.upper())}
        said |= {"database": '"shop"', "table": json.dumps(name), "ts": "1700000000451"}
        return tokens(said)

    return Pairs(
        name,
        "apache/seatunnel CanalJsonSerializationSchema",
        route("canal", key="ID"),
        FLINK_TYPES,
        message,
        key="{}",
        gold=gold_of(name),
        says={"key_columns": ["id"], "table_name": name},
    )


class Pairs(Corpus):
    """A corpus of a producer that writes an update as a delete and an insert."""

    def changes(self):
        for change in super().changes():
            if change.operation != "update":
                yield change
                continue
            yield type(change)("delete", change.before, None)
            yield type(change)("insert", None, change.after)


# Oracle's types by GoldenGate's JSON formatter: numbers bare, bytes in Base64.
ORACLE_TYPES = [
    column("A_CHAR", "CHAR(3)", '"abc"', '"   "'),
    column("A_VARCHAR2", "VARCHAR2(9)", '"\\u00fc"', '"null"'),
    column("A_NUMBER", "NUMBER", "12345678901234567890123456789012345678", "-0.000000000000000001"),
    column("A_FLOAT", "BINARY_FLOAT", "3.4028235E38", "1.5"),
    column("A_DOUBLE", "BINARY_DOUBLE", "1.7976931348623157E308", "-0.0"),
    column("A_DATE", "DATE", '"2026-11-05 12:00:00"', '"-4712-01-01 00:00:00"'),
    column("A_CLOCK", "TIMESTAMP(9)", '"2026-11-05 12:00:00.123456789"', '"2026-11-05 12:00:00"'),
    column("A_ZONED", "TIMESTAMP WITH TIME ZONE", '"2026-11-05 12:00:00 +08:00"', '"1"'),
    column("AN_INTERVAL", "INTERVAL DAY TO SECOND", '"+01 02:03:04.500000"', '"-01 00:00:00"'),
    column("A_RAW", "RAW(4)", '"AP8B"', '""'),
    column("A_CLOB", "CLOB", '"line\\nbreak"', '"0"'),
    column("A_BLOB", "BLOB", '"AAECAw=="', '"AA=="'),
    column("A_MISSING", "NUMBER", "1", "2"),
]


def goldengate(name):
    """Operation modeled, with a `pos` of 23 digits and members that mark what is missing."""

    def image(row):
        marks = {f"{n}_isMissing": "false" for n in row.cells}
        return tokens({n: token for n, (token, _) in row.cells.items()} | marks)

    def message(number, change):
        said = {
            "table": json.dumps(f"SHOP.{name}"),
            "op_type": json.dumps(change.operation[0].upper()),
            "op_ts": '"2023-11-14 22:13:20.000000"',
            "current_ts": '"2023-11-14T22:13:21.500000"',
            "pos": json.dumps(f"{30_000_001_000 + number:023d}"),
            "primary_keys": '["ID"]',
        }
        images = {"before": change.before, "after": change.after}
        return tokens(said | {member: image(row) for member, row in images.items() if row})

    truncated = tokens({"table": json.dumps(f"SHOP.{name}2"), "op_type": '"T"'})
    return Named(
        name,
        "Oracle GoldenGate for Distributed Applications and Analytics, JSON formatter",
        route("goldengate_json"),
        ORACLE_TYPES,
        message,
        key="{}",
        further=[(truncated, [{"kind": "truncate", "table_name": f"{name}2"}])],
        says={"key_columns": ["ID"], "database_name": "SHOP", "table_name": name},
    )


class Named(Corpus):
    """A corpus of Oracle, whose key is ID."""

    def row(self, number, cells):
        row = super().row(number, cells)
        return type(row)({{"id": "ID"}.get(name, name): cell for name, cell in row.cells.items()})


DMS_TYPES = [
    column("a_boolean", "BOOLEAN", "true", "false"),
    column("some_bytes", "BYTES", '"0x00FF"', '""'),
    column("a_date", "DATE", '"2026-11-05"', '"1000-01-01"'),
    column("a_time", "TIME", '"23:59:59"', '"00:00:00.500000"'),
    column("a_datetime", "DATETIME", '"2026-11-05T12:00:00.123456Z"', '"2026-11-05T12:00:00Z"'),
    column("an_int1", "INT1", "-128", "127"),
    column("an_int8", "INT8", "-9223372036854775808", "9223372036854775807"),
    column("a_uint8", "UINT8", "18446744073709551615", "0"),
    column("a_numeric", "NUMERIC(38,18)", "12345678901234567890.123456789012345678", "1.50"),
    column("a_real4", "REAL4", "3.402823e+38", "1.5"),
    column("a_real8", "REAL8", "1.797693134862316e+308", "-0.1"),
    column("a_string", "STRING", '"\\u00fc \\"q\\""', '"null"'),
    column("a_wstring", "WSTRING", '"\\ud83d\\ude00"', '"0"'),
    column("a_clob", "CLOB", '"line\\nbreak"', '"{}"'),
    column("a_blob", "BLOB", '"0xDEADBEEF"', '"0x00"'),
]


def known(row):
    return {name: held for name, held in row.held.items() if held is not None}


def dms(name):
    """With `IncludeNullAndEmpty` and before images of all columns."""

    def message(number, change):
        is_load = change.operation == "snapshot"
        metadata = {
            "timestamp": json.dumps(f"2024-10-27T12:00:{number:02d}.000001Z"),
            "record-type": '"data"',
            "operation": json.dumps("load" if is_load else change.operation),
            "partition-key-type": '"primary-key"',
            "schema-name": '"shop"',
            "table-name": json.dumps(name),
            "transaction-id": "670014899490",
        }
        said = {"data": row_of(change).sent}
        if change.operation == "update":
            said["before-image"] = change.before.sent
        return tokens(said | {"metadata": tokens(metadata)})

    return Corpus(
        name,
        "AWS DMS user guide, Kafka as a target, data types",
        route("aws_dms", key="ID"),
        DMS_TYPES,
        message,
        full_load="snapshot",
        key="{}",
        before=lambda change: change.before and known(change.before),
        says={"key_columns": ["id"], "table_name": name},
    )


UNIFIED_TYPES = [
    column("a_boolean", "BOOLEAN", "true", "false"),
    column("some_bytes", "BYTES", '"AP8B"', '""'),
    column("a_date", "DATE", '"2026-11-05"', '"0001-01-01"'),
    column("a_datetime", "DATETIME", '"2026-11-05T12:00:00.123456"', '"9999-12-31T23:59:59"'),
    column("a_decimal", "DECIMAL(38,18)", "12345678901234567890.123456789012345678", "1.50"),
    column("a_double", "DOUBLE", "1.7976931348623157E308", "-0.1"),
    column("a_float", "FLOAT", "3.4028235E38", "1.5"),
    column("an_integer", "INTEGER", "-2147483648", "2147483647"),
    column("an_interval", "INTERVAL", '"P1Y2M3DT4H5M6.5S"', '"PT0S"'),
    column("a_json", "JSON", '{"a":[1,1.50]}', '"{}"'),
    column("a_long", "LONG", "-9223372036854775808", "9223372036854775807"),
    column("a_number", "NUMBER", '"12345678901234567890.10"', '"NaN"'),
    column("a_string", "STRING", '"\\u00fc"', '""'),
    column("a_time", "TIME", '"23:59:59.999999"', '"00:00:00"'),
    column("a_time_interval", "TIME_INTERVAL", "-3020399000000", "0"),
    column("a_timestamp", "TIMESTAMP", '"2026-11-05T12:00:00.123Z"', '"1970-01-01T00:00:00Z"'),
    column("a_zoned", "TIMESTAMP_WITH_TIME_ZONE", '"2026-11-05T12:00:00+08:00"', '"2026-11-05T12"'),
    column("a_varchar", "VARCHAR(9)", '"null"', '"0"'),
]


def datastream(name):
    """Of SQL Server: the key stands in `replication_index`, here in another case than the row."""

    def message(number, change):
        is_load = change.operation == "snapshot"
        said = {
            "table": json.dumps(name),
            "database": '"shop"',
            "schema": '"dbo"',
            "change_type": json.dumps("INSERT" if is_load else change.operation.upper()),
            "is_deleted": "true" if change.operation == "delete" else "false",
            "tx_id": '"1234"',
            "lsn": "null" if is_load else json.dumps(f"00000025:00000728:{number:04x}"),
            "replication_index": '["ID"]',
        }
        return tokens(
            {
                "stream_name": '"projects/p/streams/s"',
                "read_method": json.dumps(f"sqlserver-{'backfill' if is_load else 'cdc'}"),
                "object": json.dumps(f"dbo_{name}"),
                "read_timestamp": '"2026-11-05 05:42:04.408"',
                "source_timestamp": json.dumps(f"2026-11-05T05:42:{number:02d}.408"),
                "sort_keys": "[1640410924408]",
                "source_metadata": tokens(said),
                "payload": row_of(change).sent,
            }
        )

    return Corpus(
        name,
        "Google Cloud Datastream, unified types; DataflowTemplates FormatDatastreamJsonToJson",
        route("datastream_json"),
        UNIFIED_TYPES,
        message,
        full_load="snapshot",
        key="{}",
        before=lambda change: change.before.held if change.operation == "delete" else None,
        gold=gold_of(name, table=f"shop.dbo.{name}"),
        says={"key_columns": ["id"], "schema_name": "dbo", "source_type": "sqlserver"},
    )


CORPORA = [
    flink_pipeline("k09_flink_pipeline"),
    flink_pipeline("k10_flink_pipeline_old", delete_in="old", delete_image="old"),
    flink_pipeline("k11_flink_pipeline_without_nulls", has_nulls=False),
    flink_sql("k12_flink_sql"),
    seatunnel("k13_seatunnel"),
    goldengate("k14_goldengate"),
    dms("k15_dms"),
    datastream("k16_datastream"),
]
