"""Messages that are large, deep or many, and names that are no names: memory is bounded, the run
survives, neighbours are untouched.

HOSTILE_SCALE=1 takes the sizes that a name like `100 MB` says; CI takes a fiftieth of them, and of
the limit. The commands run as a user's do, with the memory that they have by default.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import threading
import time
from hashlib import md5
from io import BytesIO
from pathlib import Path

import pytest
from conftest import SAID
from encoders import ENCODERS
from encoders.project import remove_gold
from fastavro import schemaless_reader, schemaless_writer
from history import EVERYTHING, History
from laboratory import change, thing, write_models
from shop import write_messages

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.model_sql import gold_names

pytestmark = pytest.mark.long

SCALE = float(os.environ.get("HOSTILE_SCALE") or 0.02)
MEGABYTE = int(1_000_000 * SCALE)
LIMIT = int(33_554_432 * SCALE)  # max_message_bytes
ROWS = int(1_000_000 * SCALE)
DEPTH = 10_000
CANAL, AVRO, OMS = "big.canal", "big.avro", "big.oms"
BLOB = next(column.name for column in EVERYTHING.columns if column.kind == "blob")
INTACT = ("row_change", None)
LAKEHOUSE = (sys.executable, "-m", "cdc_lakehouse.console.cli")

# Every sign that means something to SQL, Jinja, Spark's variables, regular expressions, YAML, CSV.
SIGNS = "a'; drop table silver.events; -- /* \" ` . , * % %s {{ 1 / 0 }} {% x ${env:HOME} \\E( \\"
NAMES = [SIGNS, "new\nline\\", "x" * 10_000]
# A third of a message at the limit: readers go from one escape to the next.
ESCAPED = '\u00fc"\\\n\u2028\U0001f600' * (LIMIT // 90)


def text_of(megabytes, text="x"):
    return text * (megabytes * MEGABYTE // len(text))


def canal(position, *rows, **parts):
    return json.dumps(change("INSERT", position, *rows) | parts).encode()


def of_length(length, write):
    """Return the message `write(text)` whose text makes it `length` bytes."""
    return write("x" * (length - len(write(""))))


def oms(text):
    metadata = {"record_primary_key": "id", "db": "t.lab", "table_name": "others"}
    metadata |= {"timestamp": "1700000000", "storeDataSequence": "1"}
    record = {"prevStruct": None, "postStruct": {"id": "1", "name": text}}
    return json.dumps(record | {"allMetaData": metadata, "recordType": "INSERT"}).encode()


def deep(start, end):
    return (start * DEPTH + "1" + end * DEPTH).encode()


def deep_messages():
    """Values nested 10,000 deep, at each place that a message of Canal has."""
    plain = canal(5, thing(5, "n5"))
    for nest in (deep("[", "]"), deep('{"a":', "}")):
        yield plain.replace(b'"n5"', nest)
        yield plain.replace(b'"data": [', b'"data": [' + nest + b",")
        yield plain.replace(b'"old": null', b'"old": ' + nest)
        yield plain.replace(b'"lab"', nest)
        yield b'{"extra":' + nest + b"," + plain[1:]
        yield nest
        yield nest[: len(nest) // 2]


def canal_messages():
    """Return (value, (kind, reason)) in the order of delivery, small ones around the large."""
    named = lambda text: canal(3, thing(3, text))  # noqa: E731
    large = of_length(LIMIT, named)
    numbers = [{"id": str(number)} for number in range(ROWS)]
    names = [{"id": str(number), "name": "new"} for number in range(ROWS // 2)]
    old = {"type": "UPDATE", "old": [{"name": "old"}] * len(names)}
    old["mysqlType"] = {"id": "bigint", "name": "varchar"}
    return [
        (canal(1, thing(1, "before")), INTACT),
        (canal(2, thing(2, text_of(100))), ("rejected", "too_large")),
        (large, INTACT),
        (large + b" ", ("rejected", "too_large")),
        (of_length(LIMIT, lambda text: canal(4, thing(4, ESCAPED + text))), INTACT),
        (canal(5, *numbers, mysqlType={"id": "bigint"}), INTACT),
        (canal(6, *names, **old), INTACT),
        *((value, ("rejected", "not_json")) for value in deep_messages()),
        (named(text_of(20)).replace(b"xxx", b"x\xffx", 1), ("rejected", "not_utf8")),
        (named("\ud800" + text_of(20)), ("rejected", "not_utf8")),
        (text_of(20).encode(), ("rejected", "not_json")),
        (canal(7, thing(7, "n7"), id=text_of(20, "9")), ("rejected", "wrong_type")),
        (canal(8, thing(8, "n8"), type=text_of(20)), ("rejected", "unknown_operation")),
        (canal(9, thing(9, "after")), INTACT),
    ]


def avro(blob):
    """A record of DTS with a blob."""
    encoder = ENCODERS["dts_avro"]
    event = next(event for event in History(1, 60).events if event.kind == "insert")
    record = schemaless_reader(BytesIO(encoder.encode(event)[0][0]), encoder.schema, None)
    place = [column.name for column in EVERYTHING.columns].index(BLOB)
    name = f"{encoder.namespace}.BinaryObject"
    record["afterImages"][place] = (name, {"type": "BLOB", "value": blob})
    stream = BytesIO()
    schemaless_writer(stream, encoder.schema, record)
    return stream.getvalue()


def avro_messages():
    blob = random.Random(1).randbytes
    return [
        (avro(b"before"), INTACT),
        (avro(blob(100 * MEGABYTE)), ("rejected", "too_large")),
        (avro(blob(LIMIT - 2000)), INTACT),
        (avro(blob(20 * MEGABYTE))[:-5], ("rejected", "not_avro")),
        (avro(b"after"), INTACT),
    ]


def oms_messages():
    return [
        (oms("before"), INTACT),
        (oms(text_of(100)), ("rejected", "too_large")),
        (of_length(LIMIT, lambda text: oms(ESCAPED + text)), INTACT),
        (oms("x").replace(b'"x"', deep("[", "]")), ("rejected", "not_json")),
        (oms("after"), INTACT),
    ]


def named_messages(name):
    """A change of a table of this name, a statement that adds such a column, and a change of it."""
    row = {"id": "1", "at": "2024-01-01 08:00:00"}
    table = {"database": name, "table": name, "pkNames": ["id"]}
    types = {"id": "bigint", "at": "timestamp"}
    added = {"type": "ALTER", "isDdl": True, "sql": f"alter table t add column `{name}` text"}
    return [
        canal(1, row, mysqlType=types, **table),
        canal(2, **table | added | {"data": None}),
        canal(3, row | {"id": "2", name: name}, mysqlType=types | {name: "varchar"}, **table),
    ]


class Command:
    """A command of the user, with the memory it has by default, and the most that it took."""

    def __init__(self, lakehouse, *command, memory=""):
        environment = os.environ | {"LAKEHOUSE_DIR": str(lakehouse.home)}
        environment |= {"DBT_TARGET_PATH": str(lakehouse.home / "target")}
        environment |= {"LAKEHOUSE_MEMORY": memory}
        options = {"cwd": lakehouse.project, "env": environment, "text": True}
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.peaks = {}  # megabytes, by process and its name
        self.process = subprocess.Popen([str(part) for part in command], **options)
        watcher = threading.Thread(target=self.watch)
        watcher.start()
        self.output, _ = self.process.communicate()
        watcher.join()
        self.code = self.process.returncode

    def watch(self):
        while self.process.poll() is None:
            for number in tree(self.process.pid):
                status = read_status(number)
                if "VmHWM" in status:
                    name, peak = status["Name"], int(status["VmHWM"].split()[0]) // 1024
                    self.peaks[number] = (name, max(peak, self.peaks.get(number, (name, 0))[1]))
            time.sleep(0.2)

    def peak(self, *names):
        """Return the megabytes of the largest process whose name begins so."""
        return max(
            (peak for name, peak in self.peaks.values() if name.startswith(names)), default=0
        )


def tree(number):
    """Yield a process and all that it has started."""
    yield number
    for path in Path(f"/proc/{number}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from tree(int(child))


def read_status(number):
    try:
        lines = Path(f"/proc/{number}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def prepare(project):
    """Route the topics, and scale the limit as the messages are."""
    remove_gold(project)
    write_models(project)
    topics = project / "seeds" / "topics.csv"
    routes = ["big.canal,dts_canal", "big.avro,dts_avro", "big.oms,oms_default"]
    lines = [f"{route},,,,\n" for route in [*routes, "big.lines,dts_canal"]]
    # A route may look odd too, and has to hold for each topic that the glob covers.
    lines += ["names.*,dts_canal,Asia/Shanghai,,,\n", "no\\E(.*,dts_canal,,,,\n"]
    topics.write_text(topics.read_text() + "".join(lines))
    configuration = project / "dbt_project.yml"
    given = configuration.read_text()
    assert "max_message_bytes: 33554432" in given
    configuration.write_text(given.replace("33554432", str(LIMIT)))


def write_landing(landing, messages):
    rows = [
        (topic, 0, offset, value)
        for topic, sent in messages.items()
        for offset, (value, _) in enumerate(sent)
    ]
    for number, name in enumerate(NAMES):
        values = enumerate(named_messages(name))
        rows += [(f"names.{name}", number, offset, value) for offset, value in values]
    rows.append((SIGNS, 0, 0, b"{}"))
    write_messages(landing / "all.parquet", rows)
    folder = landing / f"names.{SIGNS.replace('/', '')}"
    folder.mkdir()
    (folder / "lines.json").write_bytes(named_messages("of a folder")[0] + b"\n")
    lines = landing / "big.lines"
    lines.mkdir()
    with gzip.open(lines / "a-line-of-300-megabytes.json.gz", "wb", 1) as file:
        for _ in range(300):
            file.write(b"x" * 1_000_000)
    with gzip.open(lines / "many-lines.json.gz", "wb", 1) as file:
        file.write(b"{}\n" * ROWS)
    with gzip.open(lines / "long-lines.json.gz", "wb", 1) as file:
        for _ in range(1000):
            file.write(text_of(1).encode() + b"\n")
    with gzip.open(lines / "one-long-line.json.gz", "wb", 1) as file:
        file.write(canal(1, thing(10, "in a line")) + b"\n")
        file.write(text_of(100).encode())
    (lines / "whole.json").write_bytes(canal(2, thing(11, "in a line")) + b"\n")


class World:
    def __init__(self, lakehouse, landing):
        self.lakehouse, self.landing = lakehouse, landing
        self.messages = {CANAL: canal_messages(), AVRO: avro_messages(), OMS: oms_messages()}
        write_landing(landing, self.messages)
        dbt = (Path(sys.executable).with_name("dbt"), "--quiet", "build")
        types = ("--resource-type", "seed", "--resource-type", "model")
        self.ingest = Command(lakehouse, *LAKEHOUSE, "ingest", "files", landing)
        self.dbt = Command(lakehouse, *dbt, *types)
        # Without a condition, which twenty rows it prints is Spark's to say.
        largest = "select * from silver.rejected_messages order by reject_reason != 'too_large'"
        self.show = Command(lakehouse, *LAKEHOUSE, "query", "--rows", "20", largest)

    def events(self, where, columns="*"):
        sql = (
            f"select {columns} from silver.events where {where} order by topic, offset, row_number"
        )
        return self.lakehouse.query(sql)


@pytest.fixture(scope="module")
def world(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("volume", change=prepare)
    return World(lakehouse, tmp_path_factory.mktemp("volume-landing"))


def test_the_runs_survive_with_the_memory_they_have(world):
    assert world.ingest.code == 1, world.ingest.output
    assert world.dbt.code == 0, world.dbt.output[-3000:]
    assert world.show.code == 0, world.show.output[-3000:]
    commands = {"ingest": world.ingest, "dbt": world.dbt, "show": world.show}
    peaks = {name: (c.peak("java"), c.peak("python", "dbt")) for name, c in commands.items()}
    SAID.append(
        f"hostile volume at scale {SCALE:g}, MB at most (Java, Python): "
        + ", ".join(f"{name} {java}, {python}" for name, (java, python) in peaks.items())
    )
    for java, python in peaks.values():
        # A heap of 4 GB, and what Java has beside it.
        assert 0 < java < 5.5 * 1024
        assert 0 < python < 1.5 * 1024


def test_too_little_memory_is_said_in_one_line(open_lakehouse, tmp_path):
    lakehouse = open_lakehouse("memory")
    (tmp_path / "big.lines").mkdir()
    path = tmp_path / "big.lines" / "one.json"
    path.write_bytes(b"x" * 120_000_000)
    ended = Command(lakehouse, *LAKEHOUSE, "ingest", "files", path, memory="480m")
    assert (ended.code, ended.output.splitlines()) == (
        2,
        [
            "lakehouse: 1 files found, 1 of them new",
            "lakehouse: The ingest stopped: Spark has used up its 480m of memory. Let the "
            "environment variable LAKEHOUSE_MEMORY give it more. When the cause is removed, the "
            "next run completes what was begun.",
        ],
    )
    ended = Command(lakehouse, *LAKEHOUSE, "ingest", "files", path)
    assert (ended.code, "120,000,000 bytes" in ended.output) == (0, True), ended.output


def test_only_the_file_that_cannot_be_held_is_left(world):
    (problem,) = world.ingest.output.split("Not landed (1):\n")[1].splitlines()
    assert "a-line-of-300-megabytes.json.gz has more than 134,217,728 bytes in line 1" in problem
    landed = world.lakehouse.query(
        "select partition, count(*) as n from bronze.messages where topic = 'big.lines' group by 1"
    )
    assert sorted(row["n"] for row in landed) == [1, 2, 1000, ROWS]


@pytest.mark.parametrize("topic", [CANAL, AVRO, OMS])
def test_each_message_ends_in_one_kind(world, topic):
    found = {}
    columns = "distinct offset, kind, reject_reason"
    for row in world.lakehouse.query(
        f"select {columns} from silver.events where topic = '{topic}'"
    ):
        found.setdefault(row["offset"], []).append((row["kind"], row["reject_reason"]))
    assert found == {offset: [result] for offset, (_, result) in enumerate(world.messages[topic])}


def test_a_detail_is_short_and_says_what_to_do(world):
    (longest,) = world.lakehouse.query(
        "select max(length(reject_detail)) as characters, count_if(reject_detail is null) as empty "
        "from silver.events where kind = 'rejected'"
    )
    assert longest["empty"] == 0
    assert 900 < longest["characters"] <= 1000
    details = {row["reject_detail"] for row in world.events("reject_reason = 'too_large'")}
    length = len(world.messages[CANAL][1][0])
    assert (
        f"the value has {length} bytes, more than max_message_bytes of dbt_project.yml, {LIMIT}"
    ) in details


def test_its_bytes_stay_in_bronze(world):
    for topic, messages in world.messages.items():
        found = world.lakehouse.query(
            "select offset, length(value) as n, md5(value) as digest from bronze.messages"
            f" where topic = '{topic}' order by offset"
        )
        assert [(row["n"], row["digest"]) for row in found] == [
            (len(value), md5(value).hexdigest()) for value, _ in messages
        ]


def test_a_table_of_it_shows_beginnings(world):
    assert "too_large" in world.show.output
    assert max(map(len, world.show.output.splitlines())) <= 130


def test_large_values_and_their_neighbours_are_whole(world):
    columns = "offset, length(after['name']) as n, left(after['name'], 8) as name"
    where = "kind = 'row_change' and not offset in (5, 6) and topic = "
    rows = world.events(f"{where} '{CANAL}'", columns)
    large = {n: json.loads(world.messages[CANAL][n][0])["data"][0]["name"] for n in (2, 4)}
    last = len(world.messages[CANAL]) - 1
    assert [tuple(row.values()) for row in rows] == [
        (0, 6, "before"),
        *((number, len(text), text[:8]) for number, text in large.items()),
        (last, 5, "after"),
    ]
    rows = world.events(f"{where} '{OMS}'", columns)
    text = json.loads(world.messages[OMS][2][0])["postStruct"]["name"]
    assert [row["n"] for row in rows] == [6, len(text), 5]
    rows = world.events(f"{where} '{AVRO}'", f"md5(unhex(after['{BLOB}'])) as digest")
    blob = random.Random(1).randbytes
    blob(100 * MEGABYTE)  # that of the message that is too large
    blobs = [b"before", blob(LIMIT - 2000), b"after"]
    assert [row["digest"] for row in rows] == [md5(blob).hexdigest() for blob in blobs]


def test_a_message_of_many_rows_is_each_of_them(world):
    found = world.lakehouse.query(
        "select offset, operation, count(*) as n, count(distinct row_number) as numbers,"
        " count(distinct sequence) as places, sum(cast(after['id'] as bigint)) as ids,"
        " count_if(before['name'] = 'old' and after['name'] = 'new') as renamed"
        f" from silver.events where topic = '{CANAL}' and offset in (5, 6) group by 1, 2 order by 1"
    )
    half = ROWS // 2
    assert [tuple(row.values()) for row in found] == [
        (5, "insert", ROWS, ROWS, ROWS, ROWS * (ROWS - 1) // 2, 0),
        (6, "update", half, half, half, half * (half - 1) // 2, half),
    ]
    named = "select count(*) as n, count_if(name = 'new') as named from gold.things"
    # One of them was named once more.
    assert world.lakehouse.query(named) == [{"n": ROWS, "named": half - 1}]


# Names


def drift(world):
    return world.lakehouse.query("select * from silver.schema_drift where drift = 'new'")


def test_a_topic_may_have_any_name(world):
    landed = world.lakehouse.query("select distinct topic from bronze.messages")
    names = {f"names.{name}" for name in [*NAMES, SIGNS.replace("/", "")]}
    assert {row["topic"] for row in landed} == {*world.messages, "big.lines", SIGNS, *names}
    (unrouted,) = world.events("reject_reason = 'unrouted_topic'")
    assert unrouted["topic"] == SIGNS
    assert unrouted["reject_detail"] == f"seeds/topics.csv has no line for topic {SIGNS}"
    # The route's time zone holds for all, whatever its signs.
    times = world.events("topic like 'names.%' and kind = 'row_change'", "after['at'] as at")
    assert [row["at"] for row in times] == ["2024-01-01 00:00:00"] * (2 * len(NAMES) + 1)


def test_tables_and_columns_may_have_any_name(world):
    rows = world.events("topic like 'names.%' and row_number = 0 and offset = 2")
    assert {row["table_name"] for row in rows} == set(NAMES)
    for row in rows:
        name = row["table_name"]
        assert (row["database_name"], row["after"][name]) == (name, name)
    found = {row["table_name"]: row for row in drift(world) if row["table_name"] in NAMES}
    assert {name: row["column_name"] for name, row in found.items()} == {n: n for n in NAMES}
    assert all(row["ddl"].startswith("alter table t add") for row in found.values())


def test_no_name_is_carried_out(world):
    counted = world.lakehouse.query("select count(distinct topic) as n from silver.events")
    assert counted == [{"n": len(world.messages) + 2 + len(NAMES) + 1}]
    assert os.environ["HOME"] not in str(world.events("topic like 'names.%'")).replace(
        str(world.lakehouse.home), ""
    )
    world.lakehouse.dbt("test", "-s", "test_type:singular")


def test_gold_takes_what_is_named_so_and_keys_of_any_length(world):
    tables = world.lakehouse.seen_tables()
    tables = {table.name: table for table in tables if table.name in NAMES}
    gold = Gold(world.lakehouse.project)
    for name in NAMES[:2]:
        gold.add(tables[name], key=["id", name] if name == SIGNS else None)
    with pytest.raises(LakehouseError, match="is a name of 10,000 characters, and gold takes 255"):
        gold.add(tables[NAMES[2]])
    world.lakehouse.dbt("run", "-s", "path:models/gold")
    table = {"database": SIGNS, "table": SIGNS, "pkNames": ["id", SIGNS]}
    table["mysqlType"] = {"id": "bigint", "at": "timestamp", SIGNS: "varchar"}
    keys = [SIGNS, "${env:HOME}", text_of(20)]
    rows = [{"id": "3", "at": None, SIGNS: key} for key in keys]
    write_messages(
        world.landing / "keys.parquet", [(f"names.{SIGNS}", 0, 9, canal(9, *rows, **table))]
    )
    world.lakehouse.ingest(world.landing / "keys.parquet")
    world.lakehouse.dbt("run", "-s", "events", "path:models/gold")
    models = [path.stem for path in (world.lakehouse.project / "models" / "gold").glob("*/*.sql")]
    model = next(name for name in models if name.startswith("a_drop_table"))
    columns = gold_names(tables[SIGNS].columns)
    found = world.lakehouse.query(f"select id, `{columns[SIGNS]}` as name from gold.{model}")
    expected = [(2, SIGNS), *((3, key) for key in keys)]
    assert sorted((int(row["id"]), row["name"]) for row in found) == sorted(expected)
