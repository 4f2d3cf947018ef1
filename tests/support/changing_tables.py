"""Tables whose columns change between their rows, in the words of three databases.

A column is the same one under all of its names, and no other column gets any of them: what was
dropped does not come again under its name. So each column of the source is one column of gold.
"""

import json
import random
from base64 import b64encode
from dataclasses import dataclass, field

from encoders.debezium import DECIMAL, big_integer
from encoders.debezium_sources import whole
from laboratory import change, statement
from shop import Keyed

MOMENT = 1_790_000_000_000
LARGEST = (2**31 - 1, 10**18 - 1, 10**20 - 1)
NAMES = [f"{letter}{number}" for number in range(1, 4) for letter in "abcdefgh"]


@dataclass
class Column:
    """A column of a table; `width` says which of the numbers of its database it is, None a text."""

    name: str
    width: int | None
    names: list[str] = field(default_factory=list)  # under which a row brought it
    is_widened: bool = False

    def value(self, generator: random.Random) -> str | None:
        """A random value, as text; often one that only the widest type so far holds."""
        if generator.random() < 0.1:
            return None
        if self.width is None:
            return generator.choice(("", "text", "ü 'quoted'", '{"a": 1}'))
        largest = LARGEST[self.width]
        return str(generator.choice((largest, -largest, generator.randint(-9, 9))))


class ChangingTable:
    """A table of a source; `messages` are (topic, bytes) that nobody has delivered yet."""

    says_statements = True

    def __init__(self, name: str, seed: str):
        self.name, self.random, self.place = self.spelled(name), random.Random(seed), 0
        self.messages: list[tuple[str, bytes]] = []
        free = NAMES.copy()
        self.random.shuffle(free)
        self.free = [self.spelled(each) for each in free]
        self.columns = [self.new_column() for _ in range(3)]
        self.dropped: list[Column] = []
        # By id the values of each column, those that are dropped too: gold keeps their last values.
        self.rows: dict[int, dict[int, str | None]] = {}
        # The states of each row from an insert to a delete, and of the next row with that id.
        self.lives: dict[int, list[list[dict[int, str | None]]]] = {}
        for _ in range(3):
            self.insert()

    @property
    def all_columns(self) -> list[Column]:
        return [*self.columns, *self.dropped]

    def spelled(self, name: str) -> str:
        return name

    def new_column(self) -> Column:
        return Column(self.free.pop(), self.random.choice((0, 0, 1, None)))

    def happen(self, count: int) -> None:
        """Let random statements and changes of rows happen, and one change of a row behind them."""
        for _ in range(count):
            if self.random.random() < 0.35:
                self.alter()
            else:
                self.random.choice((self.insert, self.update, self.update, self.delete))()
        self.insert()

    def insert(self) -> None:
        number = 1 + max(self.lives, default=0) if self.random.random() < 0.8 else 1
        if number in self.rows:
            return self.update()
        after = {id(column): column.value(self.random) for column in self.columns}
        return self.bring("insert", number, None, after)

    def update(self) -> None:
        if not self.rows:
            return self.insert()
        number = self.random.choice(sorted(self.rows))
        before = self.rows[number]
        after = dict(before)
        for column in self.columns:
            if id(column) not in before or self.random.random() < 0.5:
                after[id(column)] = column.value(self.random)
        return self.bring("update", number, before, after)

    def delete(self) -> None:
        if len(self.rows) > 1:
            number = self.random.choice(sorted(self.rows))
            self.bring("delete", number, self.rows[number], None)

    def bring(self, operation, number, before, after) -> None:
        self.place += 1
        self.messages.append(self.row(operation, number, before, after))
        for column in self.columns:
            if column.name not in column.names:
                column.names.append(column.name)
        if after is None:
            del self.rows[number]
        else:
            self.rows[number] = after
            if before is None:
                self.lives.setdefault(number, []).append([])
            self.lives[number][-1].append(after)

    def alter(self) -> None:
        kind = self.random.choice(("add", "rename", "rename", "widen", "widen", "drop"))
        column = self.random.choice(self.columns)
        old = column.name
        if kind == "add":
            column = self.new_column()
            self.columns.append(column)
        elif kind == "rename" and self.says_statements:
            column.name = self.free.pop()
        elif kind == "widen" and column.width in (0, 1):
            column.width, column.is_widened = column.width + 1, True
        elif kind == "drop" and len(self.columns) > 2:
            self.columns.remove(column)
            self.dropped.append(column)
        else:
            return
        self.place += 1
        if self.says_statements:
            self.messages.append(self.statement(kind, old, column))
        else:  # a column that comes in the change in which another goes may be that one, renamed
            self.insert()

    def row(self, operation, number, before, after) -> tuple[str, bytes]:
        raise NotImplementedError

    def statement(self, kind, old, column) -> tuple[str, bytes]:
        raise NotImplementedError


class MySQLTable(ChangingTable):
    """Through Canal: texts with the types of the source, `old` has what an update has changed."""

    database, topic = "MySQL", "canal.shop"
    widths = ("int", "bigint", "decimal(20,0)")
    source = "shop"

    def type_of(self, column: Column) -> str:
        return "varchar(20)" if column.width is None else self.widths[column.width]

    def sent(self, message, **more):
        named = message | {"database": "shop", "table": self.name, **more}
        return self.topic, json.dumps(named).encode()

    def image(self, number, values):
        return {"id": str(number)} | {c.name: values.get(id(c)) for c in self.columns}

    def row(self, operation, number, before, after):
        image = self.image(number, before if after is None else after)
        types = {"id": "bigint"} | {c.name: self.type_of(c) for c in self.columns}
        old = None
        if operation == "update":
            was = self.image(number, before)
            old = [{name: was[name] for name in was if was[name] != image[name]}]
        return self.sent(change(operation.upper(), self.place, image, old=old), mysqlType=types)

    def statement(self, kind, old, column):
        typed = self.type_of(column)
        said = {
            "add": f"add column `{column.name}` {typed}",
            "rename": self.random.choice(
                (f"rename column {old} to {column.name}", f"change {old} `{column.name}` {typed}")
            ),
            "widen": f"modify column {column.name} {typed} default null",
            "drop": f"drop column {column.name}",
        }[kind]
        message = statement(self.place, f"alter table `{self.name}` {said}")
        return self.sent(message, mysqlType=None)


class DebeziumTable(ChangingTable):
    """Through a connector of Debezium: values of Kafka Connect with their schemas, whole images."""

    types = ("int32", "int64", "bytes")
    connector, schema = "", ""

    def field_of(self, column: Column) -> dict:
        if column.width is None:
            return {"type": "string", "optional": True, "field": column.name}
        found = {"type": self.types[column.width], "optional": True, "field": column.name}
        if column.width == 2:
            parameters = {"scale": "0", "connect.decimal.precision": "20"}
            found |= {"name": DECIMAL, "version": 1, "parameters": parameters}
        return found

    def value_of(self, column: Column, text: str | None):
        if text is None or column.width is None:
            return text
        return b64encode(big_integer(int(text))).decode() if column.width == 2 else int(text)

    def image(self, number, values):
        if values is None:
            return None
        key = self.spelled("id")
        return {key: number} | {c.name: self.value_of(c, values.get(id(c))) for c in self.columns}

    def place_in_log(self) -> dict:
        raise NotImplementedError

    def source_of(self):
        common = {"version": "3.1.0.Final", "connector": self.connector, "name": "srv"}
        names = {"db": "shop", "schema": self.schema, "table": self.name, "snapshot": "false"}
        return {**common, "ts_ms": MOMENT + self.place, **names, **self.place_in_log()}

    def row(self, operation, number, before, after):
        key = {"type": "int64", "optional": False, "field": self.spelled("id")}
        fields = [key, *map(self.field_of, self.columns)]
        images = [
            {"type": "struct", "fields": fields, "optional": True, "field": part}
            for part in ("before", "after")
        ]
        payload = {
            "before": self.image(number, before),
            "after": self.image(number, after),
            "source": self.source_of(),
            "op": {"insert": "c", "update": "u", "delete": "d"}[operation],
            "ts_ms": MOMENT + self.place + 9,
        }
        sent = whole(payload, images, is_wrapped=True)
        return self.topic, Keyed(sent, whole({key["field"]: number}, [key], is_wrapped=True))


class OracleTable(DebeziumTable):
    database, topic, connector, schema = "Oracle", "oracle.shop", "oracle", "SHOP"
    source = "shop.SHOP"
    words = ("NUMBER(9)", "NUMBER(18)", "NUMBER(20)")

    def spelled(self, name):
        return name.upper()

    def place_in_log(self):
        place = str(1000 + self.place)
        return {"scn": place, "commit_scn": place, "txSeq": 1}

    def statement(self, kind, old, column):
        typed = "VARCHAR2(20)" if column.width is None else self.words[column.width]
        said = {
            "add": f"ADD ({column.name} {typed})",
            "rename": f'RENAME COLUMN {old} TO "{column.name}"',
            "widen": f"MODIFY ({column.name} {typed})",
            "drop": f"DROP ({column.name}) CASCADE CONSTRAINTS",
        }[kind]
        names = {"databaseName": "shop", "schemaName": "SHOP"}
        ddl = f"ALTER TABLE SHOP.{self.name} {said};"
        said = {"source": self.source_of(), "ts_ms": MOMENT, **names, "ddl": ddl}
        return self.topic, whole(said | {"tableChanges": []}, [], is_wrapped=True)


class PostgreSQLTable(DebeziumTable):
    """Its log has no statements: columns come, go or have another type with a change of a row."""

    database, topic, connector, schema = "PostgreSQL", "postgres.shop", "postgresql", "public"
    source = "shop.public"
    says_statements = False

    def place_in_log(self):
        place = 1000 + 8 * self.place
        return {"txId": self.place, "lsn": place, "sequence": f'["{place - 1}","{place}"]'}


DATABASES = (MySQLTable, OracleTable, PostgreSQLTable)
ROUTES = "canal.*,canal,,,,\noracle.*,debezium_json,,,,\npostgres.*,debezium_json,,,,\n"
