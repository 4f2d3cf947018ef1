"""One random history, written in every format: silver and gold tell the same of each.

The messages of a format come shuffled over three partitions, and several runs if told so, and some
come again. Where a message says no place in the source, the delivery is such that it does not
matter. OMS Canal's have only a commit time: they come in order in one partition, a copy next to its
original. Rows of a full load have none in OMS Default, OMS SharePlex and DataWorks: they come
before all else in the source, and their copies cannot be told, so that each is a change in silver.
The same is so of OMS DataWorks, whose scn may be that of several changes.

HISTORY_SEED and HISTORY_EVENTS choose the history, HISTORY_FORMATS (with commas) the formats,
HISTORY_RUNS (1; 3 in `make soak`) the number of runs.

`make test` compares the changes of all formats and the gold tables of three, `make test-all` those
of the others: gold reads of each the same changes.
"""

import os
import random
from collections import Counter, defaultdict
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from conftest import SAID, parameters_of_asked
from encoders import ENCODERS
from encoders.base import BINARY, GOLD_TYPES, as_single
from encoders.project import add_routes
from history import DATABASE, TABLES, History
from shop import write_messages

SEED = int(os.environ["HISTORY_SEED"])
EVENTS = int(os.environ.get("HISTORY_EVENTS") or 150)
FORMATS = os.environ.get("HISTORY_FORMATS", ",".join(ENCODERS)).split(",")
RUNS = int(os.environ.get("HISTORY_RUNS") or 1)
# Those of which `make test` builds gold: Avro, one without places in the log, one with schemas.
FIRST = ("dts_avro", "oms_canal", "debezium_json")


@dataclass
class Delivery:
    """One message as it is delivered: `event` is its number in the history."""

    event: int
    value: bytes
    kind: str
    topic: str = ""
    partition: int = 0
    offset: int = 0
    run: int = 0


def deliveries(encoder, events, generator):
    """Return the messages of a format in the order in which they come."""
    sent = []
    for number, event in enumerate(events):
        topic = encoder.topic("lab", event.table and event.table.name)
        for value, kind in encoder.encode(event):
            sent += [(number, value, kind, topic)] * (2 if generator.random() < 0.15 else 1)
    if encoder.has_position:
        generator.shuffle(sent)
    delivered, offsets = [], Counter()
    for count, message in enumerate(sent):
        partition = generator.randrange(3) if encoder.has_position else 0
        run = count * RUNS // len(sent)
        place = message[-1], partition
        delivered.append(Delivery(*message, partition, offsets[place], run))
        offsets[place] += 1
    return delivered


def laboratory(project):
    """Write the gold models of the formats into a copy of the project."""
    add_routes(project, "lab", FORMATS)
    folder = project / "models" / "gold" / "lab"
    folder.mkdir()
    models = ["models:"]
    for name in FORMATS:
        for table in TABLES:
            (folder / f"{name}__{table.name}.sql").write_text(model(ENCODERS[name], table))
            models += [
                f"  - name: {name}__{table.name}",
                "    description: A table of the laboratory. One row per row.",
                f"    constraints: [{{type: primary_key, columns: [{', '.join(table.key)}]}}]",
                "    columns:",
            ]
            models += [
                f'      - {{name: {c.name}, data_type: "{GOLD_TYPES[c.kind]}", description: x}}'
                for c in table.columns
            ]
    (folder / "_lab.yml").write_text("\n".join(models) + "\n")


def model(encoder, table):
    columns = "".join(
        f",\n    {encoder.gold_expression(column)} as {column.name}" for column in table.columns
    )
    topic = encoder.topic("lab", table.name)
    return (
        f"select\n    {{{{ change_columns() }}}}{columns}\n"
        f"from {{{{ ref('row_images') }}}}\n"
        f"where topic = '{topic}' and table_name = '{table.name}'\n"
    )


@dataclass
class World:
    lakehouse: object
    history: History
    delivered: dict


@pytest.fixture(scope="module")
def world(request, open_lakehouse, tmp_path_factory):
    """What the formats have made of the history; gold of those whose tests are run."""
    asked = [test for test in parameters_of_asked(request) if "table" in test]
    models = sorted(f"{test['name']}__{test['table'].name}" for test in asked)
    history = History(SEED, EVENTS)
    delivered = {
        name: deliveries(ENCODERS[name], history.events, random.Random(f"{SEED} {name}"))
        for name in FORMATS
    }
    lakehouse = open_lakehouse("formats", change=laboratory)
    landing = tmp_path_factory.mktemp("formats-landing")
    for run in range(RUNS):
        rows = [
            (message.topic, message.partition, message.offset, message.value)
            for messages in delivered.values()
            for message in messages
            if message.run == run
        ]
        write_messages(landing / f"{run}.parquet", rows)
        lakehouse.ingest(landing)
        if run == 0:
            lakehouse.dbt("seed")
        lakehouse.dbt("run", "-s", "path:models/silver", *models)
    yield World(lakehouse, history, delivered)
    counts = {name: len(messages) for name, messages in delivered.items()}
    total = sum(counts.values())
    SAID.append(f"formats agree, HISTORY_EVENTS={EVENTS}: {total} messages: {counts}")


def comparable(kind, text):
    """Floating point numbers may be spelled in several ways; other texts are compared as such."""
    if text is None or kind not in ("float", "double"):
        return text
    return as_single(float(text)) if kind == "float" else float(text)


def as_key(table_name, operation, before, after, key_columns, committed_at):
    kinds = {
        column.name: column.kind for t in TABLES if t.name == table_name for column in t.columns
    }
    images = [
        image and tuple(sorted((c, comparable(kinds.get(c), text)) for c, text in image.items()))
        for image in (before, after)
    ]
    return (table_name, operation, *images, key_columns and tuple(key_columns), committed_at)


def expected_changes(world, name):
    encoder, expected = ENCODERS[name], Counter()
    copies = Counter((message.event, message.value) for message in world.delivered[name])
    for number, event in enumerate(world.history.events):
        is_told = encoder.has_position and encoder.tells_copies
        if event.kind == "snapshot":
            is_told = is_told and encoder.has_snapshot_position
        # A commit time of a full load means nothing, and most formats have none.
        is_timed = encoder.has_time and event.kind != "snapshot"
        time = datetime.fromtimestamp(event.seconds, UTC) if is_timed else None
        changes = encoder.changes(event)
        times = [1] * len(changes)
        if changes and not is_told:
            # A message for each row, or one for all.
            times = [copies[number, value] for value, _ in encoder.encode(event)]
            times *= len(changes) // len(times)
        for change, deliveries_of_it in zip(changes, times, strict=True):
            expected[as_key(*astuple(change), time)] += deliveries_of_it
    return expected


def found_changes(world, name):
    first_time = min(event.seconds for event in world.history.events)
    rows = world.lakehouse.query(
        "select table_name, operation, before, after, key_columns, committed_at,"
        f" coalesce(database_name, schema_name) as owner from silver.row_changes"
        f" where format = '{name}'"
    )
    assert {row.pop("owner") for row in rows} == {DATABASE}
    for row in rows:
        time = row["committed_at"] and row["committed_at"].astimezone(UTC)
        row["committed_at"] = time if time and time.timestamp() > first_time + 30 else None
    return Counter(as_key(*row.values()) for row in rows)


def readable(change):
    names = ("table", "operation", "before", "after", "key_columns", "committed_at")
    parts = dict(zip(names, change, strict=True))
    return {**parts, **{n: parts[n] and dict(parts[n]) for n in ("before", "after")}}


def nearest(change, others):
    """Say what differs from the most similar of the others."""
    mine = readable(change)

    def likeness(other):
        images = [
            (set(a or ()), set(b or ())) for a, b in zip(change[2:4], other[2:4], strict=True)
        ]
        return sum(len(a & b) for a, b in images) + (change[:2] == other[:2])

    theirs = readable(max(others, key=likeness)) if others else {}
    differences = {}
    for part, value in mine.items():
        other = theirs.get(part)
        if isinstance(value, dict) and isinstance(other, dict):
            names = [n for n in {**value, **other} if value.get(n, "-") != other.get(n, "-")]
            differences |= {f"{part}.{n}": (value.get(n, "-"), other.get(n, "-")) for n in names}
        elif value != other:
            differences[part] = (value, other)
    return differences


@pytest.mark.parametrize("name", FORMATS)
def test_every_change_is_what_the_source_did(world, name):
    expected, found = expected_changes(world, name), found_changes(world, name)
    missing, surplus = expected - found, found - expected
    told = [str(nearest(change, surplus))[:2000] for change in list(missing)[:5]]
    assert not missing, f"{missing.total()} of {expected.total()}, as (expected, found): {told}"
    assert not surplus, [str(readable(change))[:2000] for change in list(surplus)[:2]]


@pytest.mark.parametrize("name", FORMATS)
def test_every_message_has_its_kind(world, name):
    expected = Counter(message.kind for message in world.delivered[name])
    found = world.lakehouse.query(
        "select kind, count(*) as n, min(reject_detail) as detail from silver.events"
        f" where format = '{name}' and row_number = 0 group by kind"
    )
    kinds = {row["kind"]: row["n"] for row in found}
    if name == "oceanbase_avro":
        # Of a record in shards one message carries the change, the others wait for it.
        kinds["row_change"] += kinds.pop("control", 0)
    assert kinds == expected, [row["detail"] for row in found]


def gold_value(encoder, column, value):
    """What a gold table holds of a value of the source; a date that is none gives null."""
    value = None if value is None else encoder.carried(column, value)
    kind = column.kind
    if value is None or (kind in ("date", "datetime") and "-00" in value[:10]):
        return None
    if kind in BINARY:
        return value.hex()
    if kind in ("date", "datetime", "timestamp"):
        return value.rstrip("0").removesuffix(".") if "." in value else value
    return value if isinstance(value, int | float | Decimal) else encoder.text(column, value)


def gold_expression(column):
    if column.kind in BINARY:
        return f"lower(hex({column.name})) as {column.name}"
    if column.kind in ("date", "datetime", "timestamp"):
        return f"cast({column.name} as string) as {column.name}"
    return column.name


def found_value(column, value):
    if column.kind == "decimal" and value is not None:
        return Decimal(value)
    return value


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.full] * (name not in FIRST)) for name in FORMATS],
)
def test_gold_is_the_table_of_the_source(world, name, table):
    encoder = ENCODERS[name]
    expected = {
        key: {c.name: gold_value(encoder, c, row[c.name]) for c in table.columns}
        for key, row in encoder.rows_of(world.history, table).items()
    }
    columns = ", ".join(gold_expression(column) for column in table.columns)
    rows = world.lakehouse.query(f"select {columns} from gold.{name}__{table.name}")
    found = {
        table.key_of(row): {c.name: found_value(c, row[c.name]) for c in table.columns}
        for row in rows
    }
    assert len(found) == len(rows)
    assert found.keys() == expected.keys()
    differences = defaultdict(list)
    for key, row in expected.items():
        for column, value in row.items():
            if found[key][column] != value:
                differences[column].append((key, value, found[key][column]))
    assert not differences, {column: cells[:3] for column, cells in differences.items()}


def test_every_message_is_accounted_for(world):
    world.lakehouse.dbt("test", "-s", "test_type:singular")
    rows = world.lakehouse.query(
        "select topic, sum(messages) as messages, sum(missing_offsets) as missing"
        " from silver.message_accounting group by topic"
    )
    assert {row["topic"]: row["messages"] for row in rows} == Counter(
        message.topic for messages in world.delivered.values() for message in messages
    )
    assert {row["missing"] for row in rows} == {0}


def test_duplicates_are_those_that_a_comparison_of_all_images_finds(world):
    assert world.lakehouse.check_duplicates() > 100
