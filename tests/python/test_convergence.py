"""Whatever way the log of a source is delivered, gold ends as the source's own order says.

Each seed is a random log of a source table (`convergence.random_log`), delivered twice, as two
tables of one lakehouse: in order in one batch, and in another order in up to three batches, with
messages that come late by any distance, copies, and whole batches that come again. A plain Python
table to which the log is applied in its order (`convergence.Model`) says what both must hold.

SEED chooses the logs, CONVERGENCE_SEEDS (3), CONVERGENCE_EVENTS (2000) and CONVERGENCE_KEYS (50)
say how many there are, how many changes each has at least, and of how many keys;
CONVERGENCE_BATCHES (3) is the most batches of a delivery. `make soak` has 10 logs and 20 batches.
"""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import json
import os
import random
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from conftest import SAID
from convergence import (
    COLUMNS,
    DELETE,
    INSERT,
    NAMES,
    REGION_AND_NUMBER,
    SNAPSHOT,
    TRUNCATE,
    UPDATE,
    Table,
    model_of,
    random_log,
)
from shop import DELIVERY, as_text, write_messages

SEED = int(os.environ["SEED"])
SEEDS = int(os.environ.get("CONVERGENCE_SEEDS") or 3)
EVENTS = int(os.environ.get("CONVERGENCE_EVENTS") or 2000)
KEYS = int(os.environ.get("CONVERGENCE_KEYS") or 50)
BATCHES = int(os.environ.get("CONVERGENCE_BATCHES") or 3)

DATABASE = "conv"
DELIVERIES = ("ordered", "shuffled")
PARTITIONS = 3


class Canal:
    """A message has one or more rows; `id` and the row's number are the place in the source."""

    format = "dts_canal"
    types = {
        "id": "bigint(20)",
        "region": "varchar(20)",
        "number": "int(11)",
        "name": "varchar(20)",
        "price": "decimal(6,2)",
        "quantity": "int(11)",
        "seen_at": "datetime(6)",
        "photo": "blob",
    }
    words = {SNAPSHOT: "INIT", TRUNCATE: "DDL"}

    def sequence(self, position):
        return position

    def encode(self, name, table, statement, generator):
        first = statement[0]
        message = {
            "database": DATABASE,
            "table": name,
            "id": first.position[0],
            "es": (first.committed_at or 0) * 1000,
            "ts": 1_790_000_000_000,
            "isDdl": first.operation == TRUNCATE,
            "sql": f"truncate table `{name}`" if first.operation == TRUNCATE else "",
            "type": self.words.get(first.operation, first.operation.upper()),
        }
        if first.operation != TRUNCATE:
            columns = {*table.key, *NAMES}
            message |= {
                "data": [self.image(table, change) for change in statement],
                "old": None,
                "pkNames": list(table.key),
                "mysqlType": {c: text for c, text in self.types.items() if c in columns},
            }
            if table.types_of_image:
                sent = {column for image in message["data"] for column in image}
                message["mysqlType"] = {c: text for c, text in self.types.items() if c in sent}
        if first.operation == UPDATE:
            message["old"] = [self.old(table, change) for change in statement]
        return [message]

    def image(self, table, change):
        key = change.old_key if change.operation == DELETE else change.new_key
        return {**dict(zip(table.key, key, strict=True)), **self.texts(change.carried)}

    def old(self, table, change):
        keys = zip(table.key, change.old_key, change.new_key, strict=True)
        moved = {name: old for name, old, new in keys if old != new}
        return {**moved, **self.texts(change.before)}

    def texts(self, columns):
        """Bytes come as the characters of ISO-8859-1."""
        return {
            name: bytes.fromhex(text).decode("latin-1") if name == "photo" and text else text
            for name, text in columns.items()
        }


class Shareplex:
    """A message is one row and names no key; an update has the columns that it changes."""

    format = "dts_shareplex"
    words = {INSERT: "ins", UPDATE: "upd", DELETE: "del", TRUNCATE: "truncate"}

    def sequence(self, position):
        return (*position, 0, 0)

    def encode(self, name, table, statement, generator):
        return [self.message(name, table, change) for change in statement]

    def message(self, name, table, change):
        statement, row = change.position
        meta = {
            "op": self.words[change.operation],
            "table": f"{DATABASE}.{name}",
            "scn": str(statement),
            "seq": row,
        }
        if change.committed_at:
            meta["time"] = datetime.fromtimestamp(change.committed_at, UTC).strftime(
                "%Y-%m-%dT%H:%M:%S"
            )
        if change.operation == TRUNCATE:
            return {"meta": meta}
        old, new = (
            dict(zip(table.key, key, strict=True)) if key else {}
            for key in (change.old_key, change.new_key)
        )
        if change.operation == UPDATE:
            moved = {column: text for column, text in new.items() if old[column] != text}
            return {"meta": meta, "data": {**moved, **change.carried}, "key": old}
        return {"meta": meta, "data": {**old, **new, **change.carried}}


class Dataworks:
    """A message is one row, or one half of an update."""

    format = "dataworks_kafka"
    types = {"id": "LONG", "number": "LONG", "price": "DOUBLE", "quantity": "LONG"}
    types |= {"seen_at": "DATE", "photo": "BYTES"}

    def sequence(self, position):
        return (position[0] * 1000 + position[1], 0, 0, 0)

    def encode(self, name, table, statement, generator):
        messages = []
        for change in statement:
            before = self.image(table, change.old_key, change.before or change.carried)
            after = self.image(table, change.new_key, change.carried)
            if change.operation == UPDATE:
                halves = [("UPDATE_BEFOR", before, None), ("UPDATE_AFTER", None, after)]
                whole = [("UPDATE_AFTER", before, after)]
                parts = generator.choice((halves, whole))
            else:
                parts = [(change.operation.upper(), before, after)]
            messages += [self.message(name, table, change, *part) for part in parts]
        return messages

    def message(self, name, table, change, op, before, after):
        is_row = op != "TRUNCATE"
        columns = [{"name": c, "type": self.types.get(c, "STRING")} for c in (*table.key, *NAMES)]
        return {
            "schema": {
                "dataColumn": columns if is_row else None,
                "primaryKey": list(table.key) if is_row else None,
                "source": {"dbType": "MySQL", "dbName": DATABASE, "tableName": name},
            },
            "payload": {
                "before": before,
                "after": after,
                "sequenceId": str(self.sequence(change.position)[0]),
                "timestamp": {"eventTime": (change.committed_at or 0) * 1000, "systemTime": 1},
                "op": op,
                "ddl": None if is_row else {"text": f"TRUNCATE TABLE {name}"},
            },
            "version": "0.0.1",
        }

    def image(self, table, key, columns):
        if key is None:
            return None
        row = {name: self.value(name, text) for name, text in columns.items()}
        return {"dataColumn": {**dict(zip(table.key, key, strict=True)), **row}}

    def value(self, name, text):
        if text is not None and name == "photo":
            return b64encode(bytes.fromhex(text)).decode()
        if text is not None and name == "seen_at":
            return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
        return text


ENCODERS = {encoder.format: encoder for encoder in (Canal(), Shareplex(), Dataworks())}


@dataclass(frozen=True)
class Scenario:
    """What the log of one seed is like, its format, and the batches of its second delivery."""

    format: str
    batches: int
    table: Table


SCENARIOS = (
    Scenario(
        "dts_canal",
        20,
        Table(
            REGION_AND_NUMBER,
            partial=True,
            partial_moves=True,
            misfits=True,
            track_columns=("name",),
        ),
    ),
    Scenario(
        "dts_shareplex",
        12,
        Table(REGION_AND_NUMBER, partial=True, partial_moves=True, snapshots=False),
    ),
    Scenario(
        "dts_canal",
        10,
        Table(partial=True, partial_moves=True, types_of_image=True, misfits=True),
    ),
    Scenario("dts_canal", 8, Table(on_delete="flag", track_columns=("price", "quantity"))),
    Scenario("dataworks_kafka", 6, Table(snapshots=False)),
    Scenario("dts_canal", 4, Table(on_truncate="ignore", misfits=True)),
    Scenario("dts_canal", 2, Table(partial=True)),
    Scenario("dts_canal", 1, Table()),
    Scenario("dts_shareplex", 1, Table(partial=True, snapshots=False)),
    Scenario("dts_canal", 3, Table(key=REGION_AND_NUMBER, misfits=True)),
    Scenario("dts_canal", 5, Table(partial=True, partial_moves=True, misfits=True)),
)


class Seed:
    """A log, what it has to become, and how it is delivered."""

    def __init__(self, number):
        generator = random.Random(f"{SEED} {number}")
        scenario = SCENARIOS[number % len(SCENARIOS)]
        self.number, self.table = number, scenario.table
        self.batches = min(scenario.batches, BATCHES)
        self.encoder = ENCODERS[scenario.format]
        self.log, _ = random_log(self.table, generator, KEYS, EVENTS)
        self.model = model_of(self.table, self.log)
        self.deliveries = {
            "ordered": [[(0, n, value) for n, value in enumerate(self.messages("ordered"))]],
            "shuffled": shuffled(self.messages("shuffled"), self.batches, generator),
        }

    def __str__(self):
        return f"SEED={SEED}, log {self.number} ({self.encoder.format}, {self.table})"

    def name(self, delivery):
        return f"t{self.number}_{delivery}"

    def topic(self, delivery):
        return f"{DATABASE}.{self.encoder.format}.{self.name(delivery)}"

    def messages(self, delivery):
        generator = random.Random(f"{SEED} {self.number} messages")
        return [
            json.dumps(message, ensure_ascii=False).encode()
            for statement in self.log
            for message in self.encoder.encode(
                self.name(delivery), self.table, statement, generator
            )
        ]

    def batch(self, delivery, number):
        batches = self.deliveries[delivery]
        rows = batches[number] if number < len(batches) else []
        return [(self.topic(delivery), *row) for row in rows]


def shuffled(messages, batches, generator):
    """Return the batches in which messages come: lists of (partition, offset, bytes).

    A batch has its part of the messages in any order; one in ten comes in a later batch, some come
    twice, and now and then an earlier batch comes again, exported again or sent again.
    """
    parts = [[] for _ in range(batches)]
    for place, message in enumerate(messages):
        batch = place * batches // len(messages)
        if generator.random() < 0.10:
            batch = generator.randrange(batch, batches)
        parts[batch].append(message)
        if generator.random() < 0.15:
            parts[generator.randrange(batch, batches)].append(message)
    offsets, delivered = Counter(), []

    def send(values):
        sent = []
        for value in generator.sample(values, len(values)):
            partition = generator.randrange(PARTITIONS)
            sent.append((partition, offsets[partition], value))
            offsets[partition] += 1
        return sent

    for part in parts:
        batch = send(part)
        if delivered and generator.random() < 0.4:
            again = generator.choice(delivered)
            batch += again if generator.random() < 0.5 else send([row[2] for row in again])
        delivered.append(batch)
    return delivered


def gold_model(seed, delivery, materialization):
    """The SQL of a gold model of a seed's table."""
    options = {"materialized": materialization, "on_truncate": seed.table.on_truncate}
    if materialization == "history":
        options["track_columns"] = list(seed.table.track_columns)
    else:
        options["on_delete"] = seed.table.on_delete
    config = ", ".join(f"{name}={value!r}" for name, value in options.items())
    columns = ",\n".join(
        f"    {gold_expression(name, data_type)} as {name}"
        for name, data_type in gold_columns(seed.table)
    )
    return (
        f"{{{{ config({config}) }}}}\n\n"
        f"select\n    {{{{ change_columns() }}}},\n{columns}\n"
        f"from {{{{ ref('row_images') }}}}\n"
        f"where database_name = '{DATABASE}' and table_name = '{seed.name(delivery)}'\n"
    )


def gold_columns(table):
    key_types = {"id": "bigint", "number": "int", "region": "string"}
    keys = [(name, key_types[name]) for name in table.key]
    return keys + [(column.name, column.data_type) for column in COLUMNS]


def gold_expression(name, data_type):
    if data_type == "binary":
        return f"unhex(image['{name}'])"
    if data_type == "string":
        return f"image['{name}']"
    return f"try_cast(image['{name}'] as {data_type})"


def write_project(seeds):
    """Return the change of a project that gives it the gold models of the seeds."""

    def change(project):
        topics = project / "seeds" / "topics.csv"
        routes = "".join(f"{DATABASE}.{name}.*,{name},,,,\n" for name in ENCODERS)
        topics.write_text(topics.read_text() + routes)
        folder = project / "models" / "gold" / DATABASE
        folder.mkdir()
        models = ["models:"]
        for seed in seeds:
            for delivery in DELIVERIES:
                for suffix, materialization in MATERIALIZATIONS.items():
                    name = seed.name(delivery) + suffix
                    (folder / f"{name}.sql").write_text(gold_model(seed, delivery, materialization))
                    models += [
                        f"  - name: {name}",
                        "    description: A table of the test. One row per row.",
                        "    constraints:",
                        f"      - {{type: primary_key, columns: [{', '.join(seed.table.key)}]}}",
                        "    columns:",
                    ]
                    models += [
                        f'      - {{name: {column}, data_type: "{data_type}", description: x}}'
                        for column, data_type in gold_columns(seed.table)
                    ]
        (folder / f"_{DATABASE}.yml").write_text("\n".join(models) + "\n")

    return change


MATERIALIZATIONS = {"": "current_state", "_history": "history"}


class World:
    def __init__(self, lakehouse, seeds):
        self.lakehouse, self.seeds, self.relations = lakehouse, seeds, {}

    def read(self, schema, name):
        """Return the rows of a relation, read once."""
        relation = f"{schema}.{name}"
        if relation not in self.relations:
            self.relations[relation] = self.lakehouse.query(f"select * from {relation}")
        return self.relations[relation]


@pytest.fixture(scope="module")
def world(open_lakehouse, tmp_path_factory):
    """All seeds, delivered and merged: batch by batch, the tables that a batch has news of."""
    seeds = [Seed(number) for number in range(SEEDS)]
    lakehouse = open_lakehouse("convergence", change=write_project(seeds))
    landing = tmp_path_factory.mktemp("convergence-landing")
    for number in range(max(seed.batches for seed in seeds)):
        batches = {
            seed.name(delivery): seed.batch(delivery, number)
            for seed in seeds
            for delivery in DELIVERIES
        }
        rows = [row for batch in batches.values() for row in batch]
        write_messages(landing / f"{number}.parquet", rows)
        lakehouse.ingest(landing)
        if number == 0:
            lakehouse.dbt("seed")
        models = [
            name + suffix for name, batch in batches.items() if batch for suffix in MATERIALIZATIONS
        ]
        lakehouse.dbt("run", "-s", "events", "row_images", *models)
    rejected = lakehouse.query("select * from silver.events where kind = 'rejected' limit 3")
    assert rejected == []
    SAID.append(
        f"convergence: {SEEDS} logs of {EVENTS} changes and {KEYS} keys, each in order in one batch"
        f" and shuffled in {', '.join(str(seed.batches) for seed in seeds)} batches"
    )
    return World(lakehouse, seeds)


EACH = pytest.mark.parametrize("number", range(SEEDS))
EACH_DELIVERY = pytest.mark.parametrize("delivery", DELIVERIES)


@EACH
@EACH_DELIVERY
def test_gold_is_the_table_that_the_log_leaves(world, number, delivery):
    seed = world.seeds[number]
    rows = seed.model.last if seed.table.on_delete == "flag" else seed.model.rows
    expected = [visible(seed, row) for row in rows.values()]
    found = [shown(seed, row) for row in world.read("gold", seed.name(delivery))]
    compare(seed, expected, found)


@EACH
@EACH_DELIVERY
def test_what_is_stored_is_the_last_of_every_key(world, number, delivery):
    """Tombstones too, the last TRUNCATE, and of each column who carried it, where not the last."""
    seed = world.seeds[number]
    expected = [stored(seed, row) for row in seed.model.last.values()]
    found = world.read("gold_storage", seed.name(delivery))
    markers = [row for row in found if row["_truncated_table"]]
    found = [shown_stored(seed, row) for row in found if not row["_truncated_table"]]
    compare(seed, expected, found)
    truncates = [marker(seed, change) for change in [seed.model.truncate] if change]
    assert [shown_marker(seed, row) for row in markers] == truncates


@EACH
def test_complete_images_store_no_places_of_columns(world, number):
    seed = world.seeds[number]
    if not seed.table.partial and not seed.table.partial_moves:
        for delivery in DELIVERIES:
            rows = world.read("gold_storage", seed.name(delivery))
            assert [row for row in rows if row["_column_sequences"] is not None] == []


@EACH
@EACH_DELIVERY
def test_history_is_what_the_rows_were(world, number, delivery):
    seed = world.seeds[number]
    expected = [
        version_of(seed, version)
        for versions in seed.model.versions.values()
        for version in versions
    ]
    found = [
        shown_version(seed, row) for row in world.read("gold", f"{seed.name(delivery)}_history")
    ]
    compare(seed, expected, found)


@EACH
@EACH_DELIVERY
def test_the_current_rows_of_history_are_the_current_state(world, number, delivery):
    seed = world.seeds[number]
    state = world.read("gold", seed.name(delivery))
    history = world.read("gold", seed.name(delivery) + "_history")
    assert_same(
        seed,
        [without(row, INTERVAL) for row in history if row["is_current"]],
        [without(row, {"_is_deleted"}) for row in state if not row.get("_is_deleted")],
    )


@EACH
@pytest.mark.parametrize("suffix", MATERIALIZATIONS)
def test_what_is_stored_does_not_depend_on_the_delivery(world, number, suffix):
    """But for what says which copy was read, and the names of the two tables."""
    seed = world.seeds[number]
    ordered, other = (
        [
            {name: renamed(value, delivery) for name, value in without(row, DELIVERY).items()}
            for row in world.read("gold_storage", seed.name(delivery) + suffix)
        ]
        for delivery in DELIVERIES
    )
    assert_same(seed, other, ordered)


INTERVAL = {"valid_from", "valid_to", "is_current"}


def without(row, names):
    """The other columns of a row, in the order of their names."""
    return {name: row[name] for name in sorted(row) if name not in names}


def renamed(value, delivery):
    if isinstance(value, dict):
        return dict(sorted(value.items()))
    return value.replace(f"_{delivery}", "") if isinstance(value, str) else value


def assert_same(seed, found, expected):
    """Compare rows in any order; show those that the other side does not have."""
    found, expected = Counter(map(repr, found)), Counter(map(repr, expected))
    missing, surplus = sorted((expected - found).elements()), sorted((found - expected).elements())
    lines = [
        f"{seed}:",
        f"{len(missing)} rows are expected, and not found, among them:",
        *missing[:3],
        f"{len(surplus)} rows are found, and not expected, among them:",
        *surplus[:3],
    ]
    assert not missing and not surplus, "\n".join(lines)


def visible(seed, row):
    """A row of the model as the record that gold has to have."""
    record = {
        "key": row.key,
        **{name: row.cells[name].text for name in NAMES},
        "_problems": row.problems,
        "_operation": row.operation,
        "_sequence": seed.encoder.sequence(row.position),
        "_committed_at": row.committed_at,
    }
    if seed.table.on_delete == "flag":
        record["_is_deleted"] = row.key not in seed.model.rows
    return record


def shown(seed, row):
    """The same of a row of gold."""
    record = {
        "key": tuple(as_text(row[name]) for name in seed.table.key),
        **{name: as_text(row[name]) for name in NAMES},
        "_problems": [tuple(problem) for problem in row["_problems"]],
        "_operation": row["_operation"],
        "_sequence": numbers(row["_sequence"]),
        "_committed_at": seconds(row["_committed_at"]),
    }
    if "_is_deleted" in row:
        record["_is_deleted"] = row["_is_deleted"]
    return record


def stored(seed, row):
    record = visible(seed, row)
    record.pop("_is_deleted", None)
    older = {name: at and seed.encoder.sequence(at) for name, at in row.older_columns.items()}
    return record | {"_column_sequences": older or None}


def shown_stored(seed, row):
    record = shown(seed, row)
    record.pop("_is_deleted", None)
    older = row["_column_sequences"]
    if older is not None:
        older = {name: numbers(sequence) for name, sequence in older.items()}
    return record | {"_column_sequences": older}


def marker(seed, change):
    nothing = dict.fromkeys((*seed.table.key, *NAMES))
    sequence = seed.encoder.sequence(change.position)
    return nothing | {
        "_operation": TRUNCATE,
        "_sequence": sequence,
        "_committed_at": change.committed_at,
    }


def shown_marker(seed, row):
    record = {name: row[name] for name in (*seed.table.key, *NAMES, "_operation")}
    return record | {
        "_sequence": numbers(row["_sequence"]),
        "_committed_at": seconds(row["_committed_at"]),
    }


def version_of(seed, version):
    record = visible(seed, version.row)
    record.pop("_is_deleted", None)
    return record | {
        "valid_from": version.valid_from,
        "valid_to": version.valid_to,
        "is_current": version.is_current,
    }


def shown_version(seed, row):
    return shown(seed, row) | {
        "valid_from": seconds(row["valid_from"]),
        "valid_to": seconds(row["valid_to"]),
        "is_current": row["is_current"],
    }


def numbers(sequence):
    """The numbers that a sequence writes with twenty digits each; None for that of no change."""
    return tuple(int(number) for number in sequence.split(".")) if sequence else None


def seconds(moment):
    return None if moment is None else moment.timestamp()


def compare(seed, expected, found):
    """Compare records key by key; say of the first key that differs all that happened to it."""
    keys = {record["key"]: None for record in (*expected, *found)}
    for key in keys:
        wanted, got = (
            sorted((r for r in records if r["key"] == key), key=lambda r: r["_sequence"])
            for records in (expected, found)
        )
        if wanted != got:
            events = [c for statement in seed.log for c in statement if c.concerns(key)]
            lines = [
                f"{seed}, key {key};",
                "its events in the source's order:",
                *(f"  {event}" for event in events),
                "expected, and not found:",
                *(f"  {record}" for record in wanted if record not in got),
                "found, and not expected:",
                *(f"  {record}" for record in got if record not in wanted),
            ]
            pytest.fail("\n".join(lines), pytrace=False)
