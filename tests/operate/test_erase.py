"""An erased data subject is nowhere on disk, its neighbours are as they were, all else goes on."""

import gzip
import json
import os
import random
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from encoders import ENCODERS
from history import Column, Table
from shop import DELIVERY, write_messages
from test_shards import shards

from cdc_lakehouse.console import cli
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate import erase as erasure

pytestmark = pytest.mark.long

PERSON, MOVED = "subject-7f3a", "moved-55aa"
ACCOUNT = "918273645546372819"
OF_THE_PERSON = ("subject-7f3a", "Quillfeather", "quill@example")
OF_THE_ACCOUNT = (ACCOUNT, "XX77 6066")
PEOPLE_COLUMNS = {"id": "string", "name": "string", "email": "string"}
ACCOUNT_COLUMNS = {"id": "bigint", "iban": "string", "limit_amount": "bigint"}
MODELS = {
    "people": ("people", PEOPLE_COLUMNS, "tombstone_retention='90 days', change_feed=true"),
    "people_history": ("people", PEOPLE_COLUMNS, "materialized='history', change_feed=true"),
    "accounts": ("accounts", ACCOUNT_COLUMNS, "on_delete='flag', plain_table=true"),
}
ACCOUNTS = Table(
    "accounts",
    ("id",),
    (
        Column("id", "bigint", "bigint"),
        Column("iban", "varchar", "varchar(40)"),
        Column("limit_amount", "bigint", "bigint"),
    ),
)
TABLES = ("bronze.messages", "silver.events")
TABLES += tuple(f"gold_{schema}.{name}" for schema in ("storage", "plain") for name in MODELS)


def write_project(project):
    """Replace the gold of the sample by tables of people and of accounts."""
    for path in (project / "models" / "gold").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder = project / "models" / "gold" / "lab"
    folder.mkdir()
    described = "models:\n"
    for name, (table, columns, options) in MODELS.items():
        listed = "".join(
            f", try_cast(image['{column}'] as {kind}) as {column}"
            for column, kind in columns.items()
        )
        where = f"database_name = 'lab' and table_name = '{table}'"
        (folder / f"{name}.sql").write_text(
            f"{{{{ config({options}) }}}}\nselect {{{{ change_columns() }}}}{listed}\n"
            f"from {{{{ ref('row_images') }}}}\nwhere {where}"
        )
        described += f"  - name: {name}\n    constraints: [{{type: primary_key, columns: [id]}}]\n"
        described += "    columns:\n" + "".join(
            f"      - {{name: {column}, data_type: {kind}}}\n" for column, kind in columns.items()
        )
    (folder / "_lab.yml").write_text(described)
    topics = project / "seeds" / "topics.csv"
    topics.write_text(
        topics.read_text() + "lab.people,dts_canal,,,,\nlab.accounts,dts_avro,,,,\n"
        "stock.items,oceanbase_avro,,,,\n"
    )


def person(key, name, email="nobody@example.test"):
    return {"id": key, "name": name, "email": email}


def people(kind, position, *rows, old=None):
    """A Canal message of lab.people."""
    message = {"data": list(rows), "old": old, "database": "lab", "table": "people", "type": kind}
    message |= {"id": position, "es": 1_790_000_000_000 + position, "ts": 1_790_000_000_500}
    message |= {"isDdl": False, "sql": "", "pkNames": ["id"]}
    message["mysqlType"] = dict.fromkeys(PEOPLE_COLUMNS, "varchar(80)")
    return json.dumps(message).encode()


def account(kind, position, before, after):
    """A DTS Avro message of lab.accounts; rows are (id, iban, limit)."""
    rows = [row and dict(zip(ACCOUNT_COLUMNS, row, strict=True)) for row in (before, after)]
    event = SimpleNamespace(
        kind=kind, table=ACCOUNTS, rows=[rows], sql=None, file=1, offset=position, first_id=position
    )
    event.seconds = 1_790_000_000 + position
    encoder = ENCODERS["dts_avro"]
    fields = [{"name": c.name, "dataTypeNumber": 8} for c in ACCOUNTS.columns]
    return encoder.message(
        event,
        objectName="lab.accounts",
        fields=fields,
        beforeImages=encoder.values(ACCOUNTS, rows[0]),
        afterImages=encoder.values(ACCOUNTS, rows[1]),
    )


QUILL = person(PERSON, "Ada Quillfeather", "quill@example.test")
RENAMED = QUILL | {"name": "Ada Quillfeather-Moss"}
ANNA, BERT, CARL = (person(f"neighbour-{n}", n.title()) for n in ("anna", "bert", "carl"))
OTHER = (5, "XX01 0001", 10)
MINE = (int(ACCOUNT), "XX77 6066", 20)
RAISED = (*MINE[:2], 30)
# Offset -> message; the batches are landed and built one after the other.
PEOPLE = [
    {
        0: people("INSERT", 100, ANNA, QUILL, BERT),
        1: people("UPDATE", 101, RENAMED, old=[{"name": QUILL["name"]}]),
        2: people("UPDATE", 102, ANNA | {"name": "Anna B"}, RENAMED, old=[{"name": "Anna"}, {}]),
        3: people("INSERT", 103, QUILL)[:150],  # cut off: rejected
        4: people("UPDATE", 101, RENAMED, old=[{"name": QUILL["name"]}]),  # a copy
        5: people("INSERT", 105, CARL),
        6: b'{"id": "subject-7f3", "name": "cut',  # of somebody else
    },
    {
        7: people("UPDATE", 107, QUILL | {"id": MOVED}, old=[{"id": PERSON, "name": "x"}]),
        8: people("UPDATE", 108, CARL | {"id": "neighbour-dora"}, old=[{"id": "neighbour-carl"}]),
        9: people("INSERT", 109, QUILL),
        10: people("DELETE", 110, QUILL),
        11: None,  # Kafka's tombstone, with the key as its key
        12: people("DELETE", 112, BERT),
    },
]
ACCOUNT_MESSAGES = [
    {
        0: account("insert", 10, None, OTHER),
        1: account("insert", 11, None, MINE),
        2: account("update", 12, MINE, RAISED),
        3: account("insert", 13, None, MINE)[:-12],  # rejected
    },
    {4: account("update", 14, OTHER, (*OTHER[:2], 11)), 5: account("delete", 15, RAISED, None)},
]
SHARDS = [*shards(100), *shards(200)[:2]]  # the second record lacks its last shard


def land(lakehouse, folder, number, *topics):
    """Land messages by topic: offset -> bytes."""
    rows = [(topic, 0, offset, v) for topic, values in topics for offset, v in values.items()]
    path = folder / f"{number}.parquet"
    write_messages(path, rows)
    table = pq.read_table(path)
    keys = [b'{"id":"subject-7f3a"}' if value is None else None for *_, value in rows]
    pq.write_table(table.set_column(0, "key", pa.array(keys, pa.binary())), path)
    lakehouse.ingest(folder)


def _erase(table, subjects, dry_run):
    from dbt.adapters.lakehouse import connections

    return erasure.erase(table, subjects, os.getcwd(), dry_run, sessions=connections).text


def _lakehouse(*arguments):
    """Run the command `lakehouse` in this process; return what it told a program and a person."""
    sys.argv = ["lakehouse", *arguments]
    with redirect_stdout(StringIO()) as told, redirect_stderr(StringIO()) as said:
        assert cli.main([*arguments, "--json"]) == 0
    return json.loads(told.getvalue()), said.getvalue()


def _interrupted(place, name, call, *arguments):
    """Erase while `name` of a module or class fails at its n-th call, as if the process died."""
    from cdc_lakehouse.bronze import removal
    from cdc_lakehouse.bronze import tables as bronze
    from cdc_lakehouse.operate.erase import carry_out

    place = {"removal": removal.Removal, "bronze": bronze, "carry_out": carry_out}[place]
    done, calls = getattr(place, name), []

    def dies(*given, **named):
        calls.append(name)
        if len(calls) == call:
            raise LakehouseError("killed")
        return done(*given, **named)

    setattr(place, name, dies)
    try:
        _erase(*arguments)
    except LakehouseError as error:
        return str(error)
    finally:
        setattr(place, name, done)
    return None


def _expire(older_than, dry_run):
    from cdc_lakehouse.operate.expire import expire_messages

    return expire_messages(older_than, dry_run).text(older_than, dry_run)


def erase(lakehouse, table, dry_run=False, **key):
    return lakehouse.process.submit(_erase, table, [key] if key else [], dry_run).result()


def gold(lakehouse, model, others_than=()):
    """The stored rows of a model, tombstones included, without those of some keys."""
    rows = lakehouse.query(f"select * from gold_storage.{model}")
    kept = [{name: v for name, v in row.items() if name not in DELIVERY} for row in rows]
    return sorted(str(row) for row in kept if str(row["id"]) not in others_than)


# What dbt writes belongs to the project; here it lies beside the tables.
OF_DBT = ("logs", "target")


def files_that_hold(home, *texts, left_out=OF_DBT):
    """Return, by text, the files below `home` that hold it, read as what they are."""
    found = {text: set() for text in texts}
    for path in home.rglob("*"):
        if path.is_file() and path.relative_to(home).parts[0] not in left_out:
            content = "\n".join(_contents(path))
            for text in texts:
                if text in content:
                    found[text].add(str(path.relative_to(home)))
    return found


def _contents(path):
    data = path.read_bytes()
    yield data.decode("latin-1")
    if path.suffix == ".gz":
        yield gzip.decompress(data).decode("latin-1")
    if path.suffix == ".parquet" and data[:4] == b"PAR1":
        parquet = pq.ParquetFile(path)
        for group in range(parquet.num_row_groups):
            for column in range(parquet.metadata.num_columns):
                statistics = parquet.metadata.row_group(group).column(column).statistics
                if statistics is not None and statistics.has_min_max:
                    yield f"{statistics.min} {statistics.max}"
        yield str(parquet.read().to_pylist())


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("erase", write_project, own=True)
    lakehouse.landing = tmp_path_factory.mktemp("erase-landing")
    for number in (0, 1):
        topics = [("lab.people", PEOPLE[number]), ("lab.accounts", ACCOUNT_MESSAGES[number])]
        if number == 0:
            topics.append(("stock.items", dict(enumerate(SHARDS))))
        land(lakehouse, lakehouse.landing, number, *topics)
        if number == 0:
            lakehouse.dbt("seed")
            lakehouse.dbt("run")
    lakehouse.dbt("run", "-s", "events", *MODELS)
    # Identities that are landed again: the same bytes, and the person's under a neighbour's.
    again = {0: PEOPLE[0][0], 5: people("INSERT", 100, QUILL)}
    land(lakehouse, lakehouse.landing, 2, ("lab.people", again))
    # What a replay does leaves copies of the messages in the change feed.
    where = "where topic = 'lab.people' and offset in (1, 2)"
    lakehouse.query(f"update bronze.messages set format = 'dts_canal' {where}")
    lakehouse.dbt("run", "-s", "events", *MODELS)
    left_over = lakehouse.home / "tmp" / "ingest-killed"
    left_over.mkdir()
    (left_over / "part.jsonl.gz").write_bytes(gzip.compress(f"{OF_THE_PERSON}".encode()))
    return lakehouse


def test_before_it_is_in_every_copy(lakehouse):
    for text, paths in files_that_hold(lakehouse.home, *OF_THE_PERSON, *OF_THE_ACCOUNT).items():
        for table in ("bronze.db/messages", "silver.db/events", "gold_storage.db", "gold_plain.db"):
            assert any(table in path for path in paths), (text, table)
    held = files_that_hold(lakehouse.home, *OF_THE_PERSON)
    in_all = set.union(*held.values())
    feed = "gold_plain.db/people_history/_change_data"
    for part in (feed, "messages/_change_data", "people_history/_delta_log", "tmp/ingest-killed"):
        assert any(part in path for path in in_all), part


def test_what_is_not_processed_keeps_an_erasure_from_beginning(lakehouse):
    land(lakehouse, lakehouse.landing, 3, ("lab.people", {13: people("INSERT", 113, CARL)}))
    with pytest.raises(LakehouseError, match=r"1 messages of bronze are not processed.*`dbt run`"):
        erase(lakehouse, "lab.people", id=PERSON)
    lakehouse.dbt("run", "-s", "events", *MODELS)
    lakehouse.dbt("test", "-s", "test_type:singular")


@pytest.mark.parametrize(
    "table, key, said",
    [
        (
            "lab.peoples",
            {"id": PERSON},
            "no row changes of lab.peoples. It has those of lab.people",
        ),
        ("lab.people", {"name": "Ada"}, "The key of lab.people is id, not name"),
        ("lab.people", {}, "Name the data subject: --key"),
        (None, {}, "no erasure is unfinished"),
    ],
)
def test_a_wrong_subject_is_refused(lakehouse, table, key, said):
    with pytest.raises(LakehouseError, match=said):
        erase(lakehouse, table, **key)


def test_a_dry_run_changes_nothing(lakehouse):
    before = {table: lakehouse.query(f"describe history {table}") for table in TABLES}
    files = lakehouse.files()
    said = erase(lakehouse, "lab.people", dry_run=True, id=PERSON)
    assert "bronze.messages: 12 rows would be removed (10 messages)" in said
    assert "silver.events: 9 rows would be removed" in said
    assert "gold_storage.people_history would be rebuilt" in said
    assert "accounts" not in said
    assert {table: lakehouse.query(f"describe history {table}") for table in TABLES} == before
    assert lakehouse.files() == files


# In the order of an erasure: before which call of which function it is killed.
PLACES = [
    ("removal", "_delete", 1),
    ("bronze", "append_once", 1),
    ("carry_out", "advance_high_water_mark", 1),
    ("carry_out", "run_dbt", 1),
    ("carry_out", "advance_high_water_mark", 2),
    ("carry_out", "purge", 3),
    ("bronze", "append_once", 2),
]
for _ in range(len(PLACES) - int(os.environ.get("ERASE_KILLS") or 2)):
    PLACES.pop(random.Random(f"{os.environ['SEED']} {len(PLACES)}").randrange(len(PLACES)))


def test_an_erasure_that_is_killed_anywhere_is_completed(lakehouse):
    before = {model: gold(lakehouse, model, (ACCOUNT,)) for model in MODELS}
    arguments = ("lab.accounts", [{"id": ACCOUNT}], False)
    for place, name, call in PLACES:
        said = lakehouse.process.submit(_interrupted, place, name, call, *arguments).result()
        assert said and "killed" in said, (place, name)
        arguments = (None, [], False)
        (written_down,) = (lakehouse.home / "removals").iterdir()
        assert ACCOUNT not in written_down.read_text()
        if name == "run_dbt":
            lakehouse.dbt("run", "-s", "events", *MODELS)
    assert "is complete" in erase(lakehouse, None)
    assert set().union(*files_that_hold(lakehouse.home, *OF_THE_ACCOUNT).values()) == set()
    assert {model: gold(lakehouse, model) for model in MODELS} == before
    # 1 and 2, the rejected 3, and the delete 5.
    runs = "select first_offset, last_offset, messages, reason from bronze.removed_messages"
    assert [tuple(r.values()) for r in lakehouse.query(f"{runs} order by 1")] == [
        (1, 3, 3, "erasure"),
        (5, 5, 1, "erasure"),
    ]
    (audit,) = lakehouse.query("select * from bronze.operations")
    assert (audit["operation"], audit["messages"]) == ("erase", 4)
    assert ACCOUNT not in audit["selection"] and "blake2b" in audit["selection"]
    lakehouse.dbt("test", "-s", "test_type:singular")
    # Whole messages went: silver can be rebuilt, and is the same.
    events = (
        "select * except (loaded_at, is_late, bronze_version) from silver.events"
        " order by 1, 2, 3, 4"
    )
    log = lakehouse.query(events)
    lakehouse.dbt("run", "--full-refresh", "-s", "events")
    assert lakehouse.query(events) == log
    lakehouse.dbt("run", "-s", "events", *MODELS)


def test_an_erased_person_is_nowhere_and_the_neighbours_are_as_before(lakehouse):
    mine = (PERSON, MOVED)
    before = {model: gold(lakehouse, model, mine) for model in MODELS}
    for name in OF_DBT:
        for path in (lakehouse.home / name).rglob("*"):
            if path.is_file() and path.name != "partial_parse.msgpack":
                path.unlink()
    earlier_log = lakehouse.home / "logs" / "earlier.log"
    earlier_log.write_text(f"merge ... stored.id = '{PERSON}'")
    arguments = ("erase", "lab.people", "--key", f"id={PERSON}")
    told, said = lakehouse.process.submit(_lakehouse, *arguments).result()
    [erased] = told["erased"]
    assert told["is_complete"] and (erased["table"], erased["left"]) == ("lab.people", [])
    assert "gold_storage.people" in {table["table"] for table in erased["tables"]}
    held = files_that_hold(lakehouse.home, *OF_THE_PERSON, left_out=())
    assert set().union(*held.values()) == {"logs/earlier.log"}
    assert str(earlier_log) in said
    assert {model: gold(lakehouse, model) for model in MODELS} == before
    # Two messages of several rows, and the neighbour's whose place came again with other bytes.
    assert "3 of the messages hold other rows too: 4 rows stay" in said
    assert f"id={MOVED}" in said
    assert "neighbour" not in said.split("hold other rows")[1]
    assert "Not reached" in said and str(lakehouse.landing) not in said
    runs = (
        "select first_offset, last_offset from bronze.removed_messages where topic = 'lab.people'"
    )
    assert [tuple(row.values()) for row in lakehouse.query(f"{runs} order by 1")] == [
        (0, 5),
        (7, 7),
        (9, 11),
    ]
    lakehouse.dbt("test", "-s", "test_type:singular")
    rejected = "select offset from silver.rejected_messages where topic = 'lab.people'"
    assert lakehouse.query(rejected) == [{"offset": 6}]
    left = "select offset, row_number, kind from silver.events where topic = 'lab.people'"
    assert [tuple(row.values()) for row in lakehouse.query(f"{left} order by 1, 2")] == [
        (0, 0, "row_change"),
        (0, 2, "row_change"),
        (2, 0, "row_change"),
        (5, 0, "row_change"),
        (6, 0, "rejected"),
        (8, 0, "row_change"),
        (12, 0, "row_change"),
        (13, 0, "row_change"),
    ]


def test_a_second_erasure_finds_nothing(lakehouse):
    files = lakehouse.files()
    said = erase(lakehouse, "lab.people", id=PERSON)
    assert said == "Nothing found of the key in lab.people."
    assert lakehouse.files() == files


def test_the_runs_after_it_read_only_what_is_new(lakehouse):
    assert lakehouse.dbt("run", "-s", "events", *MODELS)["events"] == "NOTHING NEW"
    later = people("UPDATE", 120, ANNA | {"name": "Anna C"}, old=[{"name": "Anna B"}])
    land(lakehouse, lakehouse.landing, 4, ("lab.people", {20: later}))
    lakehouse.dbt("run", "-s", "events", *MODELS)
    (commit,) = lakehouse.query("describe history silver.events limit 1")
    assert (commit["operation"], commit["operationMetrics"]["numOutputRows"]) == ("WRITE", "1")
    rows = lakehouse.query("select id, name from gold.people order by id")
    assert [tuple(row.values()) for row in rows] == [
        ("neighbour-anna", "Anna C"),
        ("neighbour-carl", "Carl"),
        ("neighbour-dora", "Carl"),
    ]
    before = {model: gold(lakehouse, model) for model in MODELS}
    lakehouse.dbt("run", "--full-refresh", "-s", *MODELS)
    assert {model: gold(lakehouse, model) for model in MODELS} == before


def test_a_tombstone_younger_than_its_retention_stays(lakehouse):
    tombstones = "select id from gold_storage.people where _operation = 'delete'"
    assert lakehouse.query(f"{tombstones} order by id") == [{"id": "neighbour-bert"}]


def test_silver_is_not_rebuilt_when_that_would_lose_rows(lakehouse):
    (said,) = lakehouse.dbt("run", "--full-refresh", "-s", "events", fails=True)
    assert "4 of its rows" in said and "LAKEHOUSE_LOSE_REMOVED=yes" in said


def test_old_messages_are_dropped_and_stay_accounted_for(lakehouse):
    accounting = (
        "select topic, messages, row_changes, controls, rejected, missing_offsets, first_offset,"
        " last_offset from silver.message_accounting"
    )
    before = lakehouse.query(accounting)
    land(lakehouse, lakehouse.landing, 5, ("lab.people", {21: people("INSERT", 121, CARL)}))
    expire = lakehouse.process.submit
    assert "Nothing to drop" in expire(_expire, "400 days", False).result()
    held = lakehouse.query("select count(*) as n from bronze.messages")[0]["n"]
    # Of people 6, 8, 12, 13, 20, of accounts 0 and 4, the whole record's shards.
    assert (
        "10 messages older than 0 hours would be dropped"
        in expire(_expire, "0 hours", True).result()
    )
    assert lakehouse.query("select count(*) as n from bronze.messages")[0]["n"] == held
    said = expire(_expire, "0 hours", False).result()
    assert "10 messages older than 0 hours dropped" in said and "1 of them are rejected" in said
    left = lakehouse.query("select topic, offset from bronze.messages order by topic, offset")
    assert [tuple(row.values()) for row in left] == [
        ("lab.people", 21),
        ("stock.items", 3),
        ("stock.items", 4),
    ]
    expected = {row["topic"]: row for row in before}
    expected["lab.people"] |= {
        "messages": expected["lab.people"]["messages"] + 1,
        "last_offset": 21,
    }
    assert {row["topic"]: row for row in lakehouse.query(accounting)} == expected
    lakehouse.dbt("run", "-s", "events", *MODELS)
    lakehouse.dbt("test", "-s", "test_type:singular")
    (said,) = lakehouse.dbt("run", "--full-refresh", "-s", "events", fails=True)
    assert "no longer holds (retention" in said
    audit = lakehouse.query("select operation, messages from bronze.operations order by began_at")
    assert [tuple(row.values()) for row in audit][-1] == ("retention", 10)
