"""OMS's serializers Debezium and DebeziumFlatten: "Data formats", V4.2.2."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from datetime import date, datetime

from history import DATABASE

from encoders.base import BINARY, HEARTBEAT, AsSent, Bare, Encoder, document, to_json, trimmed
from encoders.debezium import EPOCH, microseconds
from encoders.dts import mysql_text

NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "year")


class OmsDebezium(AsSent, Encoder):
    format = "oms_debezium"
    cannot_say = {
        "types": "none, and no keys",
        "statements": "none, nor TRUNCATE",
        "transactions": "none",
        "days that are none": "a number of days is null then",
        "fraction of a DATETIME": "milliseconds",
    }
    marks = (HEARTBEAT,)
    has_snapshot_position = False
    tells_copies = False
    names_key = False

    def carried(self, column, value):
        if column.kind in ("date", "datetime") and "-00" in value[:10]:
            return None
        return value[:-3] + "000" if column.kind == "datetime" else value

    def value(self, column, value):
        value, kind = None if value is None else self.carried(column, value), column.kind
        if value is None:
            return None
        if kind in BINARY:
            return value.hex().upper()
        if kind == "bit":
            return f"{value:06X}"
        if kind in NUMBERS:
            return Bare(mysql_text(column, value) if kind in ("float", "double") else value)
        if kind == "date":
            return Bare((date.fromisoformat(value) - EPOCH.date()).days)
        if kind == "time":
            return Bare(microseconds(value))
        if kind == "datetime":
            moment = datetime.fromisoformat(value) - EPOCH
            return Bare(
                moment.days * 86_400_000 + moment.seconds * 1000 + moment.microseconds // 1000
            )
        if kind == "timestamp":
            return trimmed(value).replace(" ", "T") + "Z"
        return document(value) if kind == "json" else mysql_text(column, value)

    def gold_expression(self, column):
        text = f"image['{column.name}']"
        return {
            "bit": f"try_cast(conv({text}, 16, 10) as bigint)",
            "date": f"date_from_unix_date(try_cast({text} as int))",
            "datetime": f"cast(timestamp_millis(try_cast({text} as bigint)) as timestamp_ntz)",
        }.get(column.kind, super().gold_expression(column))

    def source(self, event, **said):
        moment = Bare(event.seconds * 1000)
        return {"connector": "OB_MYSQL", "name": "OMS", "version": "", "ts_ms": moment, **said}

    def whole(self, envelope):
        return to_json({"payload": envelope}).encode()

    def row(self, event, number, before, after):
        said = {"db": DATABASE, "table": event.table.name}
        source = self.source(event, pos=f"{event.first_id + number}@{event.seconds}", **said)
        if event.kind == "snapshot":
            source = {**source, "ts_ms": Bare(0)}
            del source["pos"]
        envelope = {"op": "c" if before is None else "d" if after is None else "u"}
        for part, row in (("before", before), ("after", after)):
            if row is not None:
                values = {c.name: self.value(c, row[c.name]) for c in event.table.columns}
                envelope[part] = values
        return self.whole({**envelope, "source": source, "ts_ms": Bare(event.seconds * 1000 + 55)})

    def mark(self, event):
        source = self.source(event, pos=Bare(event.seconds))
        images = {"before": {}, "after": {}}
        moment = {"ts_ms": Bare(event.seconds * 1000 + 55)}
        return self.whole({"source": source, "op": "HEARTBEAT", **moment, **images})


class OmsDebeziumFlatten(OmsDebezium):
    format = "oms_debezium_flatten"

    def whole(self, envelope):
        return to_json(envelope).encode()
