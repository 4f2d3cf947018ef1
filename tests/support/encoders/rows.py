"""Rows whose table and key only their route names.

`rows` are plain JSON objects, as an application writes them. Those of `everything` have all
columns, and a number for their order. Those of `two_keys` lack the columns that are null, and have
a time for their order, some of them in the zone of the route.

`flink_changelog` has the envelopes of Flink SQL, after the sources of flink-json and of Flink CDC's
format-changelog-json. Rows of `two_keys` are written with encode.ignore-null-fields.
"""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from datetime import UTC, datetime, timedelta, timezone

from history import DATABASE, EVERYTHING, TWO_KEYS

from encoders.base import Bare, Change, to_json
from encoders.debezium import DebeziumJson
from encoders.maxwell import Maxwell

KIND, PLACE = "row kind", "changed"
WORDS = {
    "snapshot": ("r", "READ", "snapshot"),
    "insert": ("c", "I", "Insert", "+I"),
    "update": ("u", "U", "UPDATE", "upsert", "+U"),
    "delete": ("d", "D", "delete", "-D"),
}
FIRST = datetime(2026, 11, 5, tzinfo=UTC)
INDIA = timezone(timedelta(hours=5, minutes=30))
BRAZIL = timezone(-timedelta(hours=3))


def lacks_nulls(table):
    return table.columns == TWO_KEYS.columns


class OfRoute(Maxwell):
    """Messages that name no table: each table has a topic of its own."""

    marks = ()
    has_time = False
    tells_copies = False
    own_routes = {EVERYTHING: {}, TWO_KEYS: {}}

    def topic(self, prefix, table):
        return f"{prefix}.{self.format}.{table}"

    def routes(self, prefix):
        names = {"topic_pattern": f"*.{self.format}.{{table}}", "database": DATABASE}
        return {
            self.topic(prefix, f"{table.name}*"): {**names, "key": ",".join(table.key), **further}
            for table, further in self.own_routes.items()
        }

    def sent(self, table, row):
        """The values of a row that are sent."""
        values = self.values(table, row)
        if lacks_nulls(table):
            return {name: value for name, value in values.items() if value is not None}
        return values

    def image(self, table, row):
        image = super().image(table, row)
        if image and lacks_nulls(table):
            return {name: text for name, text in image.items() if text is not None}
        return image


class Rows(OfRoute):
    format = "rows"
    cannot_say = {"all but rows": "a row says nothing else", "types": "no types"}
    adds = (PLACE,)
    words = {"operation_column": KIND, "sequence_column": PLACE}
    own_routes = {
        EVERYTHING: words,
        TWO_KEYS: {**words, "missing_columns": "null", "time_zone": "Asia/Kolkata"},
    }
    split = DebeziumJson.split

    def place(self, event, number):
        count = event.first_id + number
        if not lacks_nulls(event.table):
            return Bare(count)
        moment = FIRST + timedelta(milliseconds=500 * count)
        if count % 3 == 0:
            return moment.astimezone(INDIA).replace(tzinfo=None).isoformat(sep=" ")
        zone = UTC if count % 3 == 1 else BRAZIL
        return moment.astimezone(zone).isoformat().replace("+00:00", "Z")

    def parts(self, event):
        """What became of each row that is sent, the row, and its place."""
        for number, images in enumerate(event.rows):
            for before, after in self.split(event.table, *images):
                kind = event.kind
                if kind == "update" and not (before and after):
                    kind = "delete" if after is None else "insert"
                yield kind, after or before, self.place(event, number)

    def rows(self, event):
        sent = []
        for kind, row, place in self.parts(event):
            words = WORDS[kind]
            said = {KIND: words[event.number % len(words)], PLACE: place}
            sent.append(to_json(self.sent(event.table, row) | said).encode())
        return sent

    def changes(self, event):
        """Where a row lacks what is null, an update begins it, as an insert does."""
        changes, table = [], event.table
        for kind, row, place in self.parts(event):
            image = self.image(table, row) | {PLACE: str(place)}
            operation = "insert" if kind == "update" and lacks_nulls(table) else kind
            images = (image, None) if kind == "delete" else (None, image)
            changes.append(Change(table.name, operation, *images, list(table.key)))
        return changes


class FlinkChangelog(OfRoute):
    format = "flink_changelog"
    cannot_say = {
        "updates": "a delete and an insert",
        "full loads": "inserts",
        "all but rows": "Flink writes none",
        "types": "no types",
    }
    has_position = False
    # The members of each envelope: of the row after, the row before, the word; and the words.
    envelopes = (
        ("after", "before", "op", "c", "d"),
        ("data", "data", "type", "INSERT", "DELETE"),
        ("data", "data", "type", "insert", "delete"),
        ("after", "before", "op_type", "I", "D"),
        ("data", "data", "op", "+I", "-D"),
    )

    def value(self, column, value):
        return value if column.kind == "json" else super().value(column, value)

    def rows_sent(self, event):
        """Whether each row that is sent is gone, and the row."""
        for before, after in event.rows:
            yield from ((row is before, row) for row in (before, after) if row)

    def rows(self, event):
        return [self.envelope(event, *row) for row in self.rows_sent(event)]

    def envelope(self, event, is_gone, row):
        number = event.number % len(self.envelopes)
        after, before, said, *words = self.envelopes[number]
        sent = self.sent(event.table, row)
        if number == 1:
            sent = [sent]
        message = {before: None, after: None} | {before if is_gone else after: sent}
        word = words[is_gone]
        if event.kind == "update" and said == "op" and after == "data":
            word = "-U" if is_gone else "+U"
        return to_json(message | {said: word}).encode()

    def changes(self, event):
        changes, table = [], event.table
        for is_gone, row in self.rows_sent(event):
            image = self.image(table, row)
            images = ("delete", image, None) if is_gone else ("insert", None, image)
            changes.append(Change(table.name, *images, list(table.key)))
        return changes
