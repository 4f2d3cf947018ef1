"""OceanBase Migration Service: "Data formats" of the OMS manual (Community Edition V3.3.1)."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from base64 import b64encode
from datetime import UTC, datetime

from history import DATABASE

from encoders.base import (
    BASE64,
    BEGIN,
    BINARY,
    END,
    HEARTBEAT,
    SCHEMA_CHANGE,
    TRUNCATE,
    AsSent,
    Bare,
    Encoder,
    changed,
    document,
    java_double,
    java_float,
    to_json,
    trimmed,
)

# The types that the samples name, by what the table of types maps MySQL's to.
TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "mediumint": "INT",
    "int": "INT",
    "year": "INT",
    "bigint": "INT64",
    "unsigned": "BIGINT",
    "decimal": "DECIMAL",
    "price": "DECIMAL",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bit": "BIT",
    **dict.fromkeys(("char", "varchar", "text", "enum", "set", "json"), "VARCHAR"),
    "date": "DATE",
    "time": "TIME",
    "datetime": "DATETIME",
    "timestamp": "TIMESTAMP",
    **dict.fromkeys(BINARY, "BLOB"),
}
JDBC = {"TINYINT": -6, "SMALLINT": 5, "INT": 4, "INT64": -5, "BIGINT": -5, "DECIMAL": 3}
JDBC |= {"FLOAT": 6, "DOUBLE": 8, "VARCHAR": 12, "DATE": 91, "TIME": 92, "DATETIME": 93}
JDBC |= {"TIMESTAMP": 93, "BLOB": 2004, "BIT": -7}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_text(value):
    """A TIMESTAMP as seconds since 1970 and a fraction without its last zeros."""
    whole, fraction = value.split(".")
    moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    return trimmed(f"{int((moment - EPOCH).total_seconds())}.{fraction}")


def as_bytes(value):
    """A bit string without the zero bytes that lead it, as incremental records have it."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


class Oms(Encoder):
    """Values as the manual's table says, the same in all five formats."""

    def value(self, column, value):
        kind = column.kind
        if value is None:
            return None
        if kind in BINARY:
            return b64encode(value).decode()
        if kind == "bit":
            return b64encode(as_bytes(value)).decode()
        if kind == "timestamp":
            return epoch_text(value)
        if kind in ("time", "datetime"):
            return trimmed(value)
        if kind == "json":
            return document(value)
        if kind == "float":
            return Bare(java_float(value))
        if kind == "double":
            return Bare(java_double(value))
        if kind in ("decimal", "price"):
            # "Without removing zeros at the end. Scientific notation is used": as BigDecimal does.
            return Bare(value)
        return value if isinstance(value, str) else Bare(value)

    def values(self, table, row):
        if row is None:
            return None
        return {column.name: self.value(column, row[column.name]) for column in table.columns}

    def text(self, column, value):
        return str(value) if column.kind == "year" else super().text(column, value)


class UntypedOms(AsSent, Oms):
    """Without types in the message the texts are what was sent."""

    bytes_in_gold = BASE64

    def gold_expression(self, column):
        text = f"image['{column.name}']"
        if column.kind == "bit":
            return f"cast(conv(hex(try_to_binary({text}, 'base64')), 16, 10) as bigint)"
        if column.kind == "timestamp":
            return f"timestamp_seconds(try_cast({text} as decimal(16, 6)))"
        return super().gold_expression(column)


NO_TYPES = "no types: Base64, seconds since 1970 and exponents stay as sent"


class OmsDefault(UntypedOms):
    format = "oms_default"
    cannot_say = {"types": NO_TYPES, "row of a transaction": "no field"}
    marks = (SCHEMA_CHANGE, TRUNCATE, HEARTBEAT, BEGIN, END)
    has_snapshot_position = False
    record_types = {"snapshot": "ROW", BEGIN: "BEGIN", END: "COMMIT", HEARTBEAT: "HEARTBEAT"}

    def struct(self, table, row):
        return self.values(table, row)

    def meta(self, event, number=0, row=None):
        key = event.table.key if row else ()
        names = {column.name: column for column in event.table.columns} if row else {}
        meta = {
            "checkpoint": str(event.seconds),
            "record_primary_key": "\x01".join(key) or None,
            "source_identity": "ob_mysql_1",
            "record_primary_value": "\x01".join(str(row[name]) for name in key) or None,
            "dbType": "OB_MYSQL",
            "table_name": event.table.name if event.table else None,
            "db": f"tenant_1.{DATABASE}" if names else DATABASE,
        }
        if event.kind != "snapshot":
            meta["timestamp"] = str(event.seconds)
        if row and event.kind != "snapshot":
            meta["storeDataSequence"] = Bare(f"{event.seconds}{event.counter + number}")
            meta["transId"] = f"1002_{event.transaction}"
        return meta

    def row(self, event, number, before, after):
        return to_json(
            {
                "allMetaData": self.meta(event, number, after or before),
                "prevStruct": self.struct(event.table, before),
                "recordType": self.record_types.get(event.kind, event.kind.upper()),
                "postStruct": self.struct(event.table, after),
            }
        ).encode()

    def mark(self, event):
        return to_json(
            {
                "allMetaData": self.meta(event),
                "prevStruct": None,
                "recordType": self.record_types.get(event.kind, "DDL"),
                "postStruct": {"ddl": event.sql} if event.sql else None,
            }
        ).encode()


class OmsDefaultExtend(OmsDefault):
    format = "oms_default_extend"
    cannot_say = {"row of a transaction": "no field"}
    text = Oms.text
    bytes_in_gold = Oms.bytes_in_gold
    gold_expression = Encoder.gold_expression

    def struct(self, table, row):
        if row is None:
            return None
        types = {column.name: {"schemaType": TYPES[column.kind]} for column in table.columns}
        return {**self.values(table, row), "__light_type": types}


class OmsCanal(Oms):
    format = "oms_canal"
    cannot_say = {
        "position": "neither id nor sequence: the order is commit time, partition, offset",
        "transactions": "no field",
        "heartbeats": "their form is not documented",
    }
    marks = (SCHEMA_CHANGE, TRUNCATE)
    has_position = False

    def envelope(self, event):
        return {
            "database": DATABASE,
            "sqlType": None,
            "data": None,
            "pkNames": None,
            "old": None,
            "mysqlType": None,
            "type": {"snapshot": "ROW", SCHEMA_CHANGE: "ALTER"}.get(event.kind, event.kind.upper()),
            "table": event.table.name,
            "es": event.seconds * 1000,
            "isDdl": event.sql is not None,
            "ts": event.seconds * 1000 + 321,
            "sql": event.sql or "",
        }

    def row(self, event, number, before, after):
        table = event.table
        types = {column.name: TYPES[column.kind] for column in table.columns}
        old = None
        if event.kind == "update":
            old = self.values(table, before)
            old = [{name: old[name] for name in changed(before, after)}]
        message = {
            **self.envelope(event),
            "sqlType": {name: JDBC[kind] for name, kind in types.items()},
            "data": [self.values(table, after or before)],
            "pkNames": list(table.key),
            "old": old,
            "mysqlType": {name: kind.lower() for name, kind in types.items()},
        }
        return to_json(message).encode()

    def mark(self, event):
        return to_json(self.envelope(event)).encode()


class OmsDataworks(Oms):
    format = "oms_dataworks"
    cannot_say = {
        "full load": "INSERT is the only word for a new row",
        "copies": "scn increments, but nothing says that no two changes share one",
    }
    marks = (SCHEMA_CHANGE, TRUNCATE, HEARTBEAT, BEGIN, END)
    operations = {"snapshot": "insert"}
    tells_copies = False
    words = {"snapshot": "INSERT", SCHEMA_CHANGE: "ALTER"}

    def value(self, column, value):
        # The samples write decimals without an exponent here.
        if value is not None and column.kind in ("decimal", "price"):
            return Bare(f"{value:f}")
        return super().value(column, value)

    def message(self, event, number=0, before=None, after=None):
        table, columns, key = event.table, None, None
        if before or after:
            columns = [{"name": c.name, "type": TYPES[c.kind]} for c in table.columns]
            key = list(table.key)
        return {
            "version": "2.0",
            "schema": {
                "source": {
                    "dbType": "ob_mysql",
                    "dbVersion": None,
                    "dbName": DATABASE,
                    "schema": None,
                    "table": table.name if table else None,
                },
                "column": columns,
                "pk": key,
            },
            "payload": {
                "before": before and {"data": self.values(table, before)},
                "after": after and {"data": self.values(table, after)},
                "op": self.words.get(event.kind, event.kind.upper()),
                "timestamp": {
                    "eventTime": event.seconds * 1000,
                    "systemTime": event.seconds * 1000 + 795,
                    "checkpointTime": event.seconds,
                },
                "ddl": {"text": event.sql} if event.sql else None,
                "scn": str(event.first_id + number),
            },
            "extend": {"load_fm": "test"},
        }

    def row(self, event, number, before, after):
        return to_json(self.message(event, number, before, after)).encode()

    def mark(self, event):
        message = self.message(event)
        if event.kind == HEARTBEAT:
            time = {"eventTime": event.seconds * 1000}
            message = {"version": "2.0", "payload": {"timestamp": time, "op": "HEARTBEAT"}}
        return to_json(message).encode()


class OmsShareplex(UntypedOms):
    format = "oms_shareplex"
    cannot_say = {
        "types": NO_TYPES,
        "key": "rowid holds the values of the key, not its columns",
        "full load": "ins is the only word for a new row",
        "transactions": "no marks, only their identifiers",
        "heartbeats": "none",
    }
    marks = (SCHEMA_CHANGE, TRUNCATE)
    operations = {"snapshot": "insert"}
    has_snapshot_position = False
    names_key = False

    def meta(self, event, number, row):
        time = datetime.fromtimestamp(event.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        rowid = "\x01".join(str(row[name]) for name in event.table.key) if row else ""
        meta = {
            "posttime": time,
            "op": {"insert": "ins", "snapshot": "ins", "update": "upd", "delete": "del"}.get(
                event.kind, "ddl"
            ),
            "size": event.transaction_size,
            "time": time,
            "idx": f"{event.first_row + number}/{event.transaction_size}",
            "seq": event.first_row + number,
            "table": f"{DATABASE}.{event.table.name}",
            "rowid": f"{DATABASE}.{event.table.name}-{rowid}",
            "trans": f"1002_{event.transaction}",
            "scn": f"{event.seconds}{event.counter + number}",
        }
        if event.kind == "snapshot":
            del meta["scn"], meta["trans"], meta["seq"]
        return meta

    def row(self, event, number, before, after):
        data = self.values(event.table, after or before)
        message = {"data": data, "meta": self.meta(event, number, after or before)}
        if event.kind == "update":
            message["key"] = self.values(event.table, before)
            message["data"] = {name: data[name] for name in changed(before, after)}
        return to_json(message).encode()

    def mark(self, event):
        meta = {**self.meta(event, 0, None), "size": 0, "idx": "0/0", "scn": "null"}
        return to_json({"data": {}, "meta": meta, "sql": {"ddl": event.sql}}).encode()
