"""After a mend, replay leaves gold as if the messages had been right at first."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict

import pytest
from conftest import PROJECT
from laboratory import change, thing, truncate
from shop import DELIVERY, write_messages
from test_shards import shards

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.report import ingest_text
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.replay import REASONS, Replay, Selection, parse_offsets
from cdc_lakehouse.runtime.locks import hold

pytestmark = pytest.mark.long

MODEL = """{config}select
    {{{{ change_columns() }}}},
    try_cast(image['id'] as bigint) as id,
    image['name'] as name,
    try_cast(image['seen'] as timestamp) as seen
from {{{{ ref('row_images') }}}}
where database_name = '{database}' and table_name = '{table}'
"""
YAML = """
  - name: {name}
    description: A table of the laboratory. One row per thing.
    constraints: [{{type: primary_key, columns: [id]}}]
    columns:
      - {{name: id, data_type: bigint, description: Number.}}
      - {{name: name, data_type: string, description: Name.}}
      - {{name: seen, data_type: timestamp, description: When it was seen.}}
"""
MODELS = {
    "things": ("lab", "things", ""),
    "things_history": ("lab", "things", "{{ config(materialized='history') }}\n\n"),
    "items": ("stock", "items", ""),
    "widgets": ("lab", "widgets", ""),
    "widgets_history": ("lab", "widgets", "{{ config(materialized='history') }}\n\n"),
    "others": ("other", "widgets", ""),
}
# Each line twice: as it was written first, and as it should have been.
ROUTES = [
    ("lab.things,dts_canal,Asia/Shanghai,,,", None),
    ("images.things,dts_canal,Asia/Shanghai,,new,", "images.things,dts_canal,Asia/Shanghai,,,"),
    ("mistaken.things,dts_avro,,,,", "mistaken.things,dts_canal,Asia/Shanghai,,,"),
    ("avro.items,oceanbase_avro,,avro/lost.avsc,,", "avro.items,oceanbase_avro,,,,"),
    ("clock.widgets,dts_canal,Europe/Berlin,,,", "clock.widgets,dts_canal,,,,"),
    ("nameless.widgets,dts_canal,,,,lab", "nameless.widgets,dts_canal,,,,other"),
    ("noise.widgets,dts_canal,,,,", "noise.widgets,dts_shareplex,,,,"),
]
BROKEN = b'{"data": [{"id":'


def seen(message, hour):
    """Give the rows of a Canal message a time without a zone."""
    rows = [row | {"seen": f"2026-11-20 {hour:02}:30:00"} for row in message["data"]]
    types = message["mysqlType"] | {"seen": "timestamp"}
    return message | {"data": rows, "mysqlType": types}


def widget(message, **more):
    return message | {"table": "widgets"} | more


def messages():
    """Changes of the same rows on topics that are read at once and on topics to be mended.

    Positions say the order in the source: of lab.things, most of the older are to be mended.
    """
    images = [
        change("INSERT", 1, thing(1, "one"), thing(2, "two"), thing(3, "three")),
        change("UPDATE", 5, thing(1, "one late"), old=[{"name": "one"}]),
        change("DELETE", 7, thing(2, "two")),
        change("INSERT", 10, thing(8, "eight")),
        BROKEN,
        change("INSERT", 12, thing(2, "two again")),
        change("UPDATE", 30, thing(6, "six, latest"), old=[{"name": "six"}]),
    ]
    mistaken = [
        change("UPDATE", 6, thing(3, "three late"), old=[{"name": "three"}]),
        change("INSERT", 20, thing(7, "seven")),
        change("INSERT", 22, thing(4, "four, before its delete")),
    ]
    plain = [
        change("UPDATE", 8, thing(1, "one latest"), old=[{"name": "one late"}]),
        truncate(11),
        change("DELETE", 13, thing(2, "two again")),
        BROKEN,
        change("INSERT", 21, thing(6, "six")),
        change("DELETE", 23, thing(4, "four, before its delete")),
    ]
    clock = [
        seen(widget(change("INSERT", 40, thing(1, "clock"))), 12),
        seen(widget(change("UPDATE", 44, thing(2, "later clock"), old=[{"name": "b"}])), 13),
    ]
    nameless = [
        widget(change("INSERT", 42, thing(2, "b"), thing(5, "e")), database=""),
        widget(change("DELETE", 43, thing(1, "clock")), database=""),
    ]
    # Neither of these is of a table: what they say belongs to another format.
    noise = [widget(change("INSERT", 45, *(thing(n, "noise") for n in (5, 6, 7))))]
    topics = {
        "images.things": [seen(m, 20) if m != BROKEN else m for m in images],
        "mistaken.things": [seen(m, 21) for m in mistaken],
        "lab.things": [seen(m, 22) if m != BROKEN and m["data"] else m for m in plain],
        "avro.items": [*shards(100), *shards(101)],
        "clock.widgets": clock,
        "nameless.widgets": nameless,
        "noise.widgets": noise,
        "nowhere": [b"no route"],
    }
    return [
        (topic, 0, offset, text if isinstance(text, bytes) else json.dumps(text).encode())
        for topic, texts in topics.items()
        for offset, text in enumerate(texts)
    ]


def write_project(project):
    folder = project / "models" / "gold" / "replayed"
    folder.mkdir()
    for name, (database, table, config) in MODELS.items():
        text = MODEL.format(config=config, database=database, table=table)
        (folder / f"{name}.sql").write_text(text)
    (folder / "_replayed.yml").write_text("models:" + "".join(YAML.format(name=n) for n in MODELS))
    (project / "seeds" / "topics.csv").write_text(
        "topic,format,time_zone,avro_schema,delete_image,database\n"
        + "".join(f"{first}\n" for first, _ in ROUTES)
    )


def mend(project, *names):
    """Correct the routes of some topics, or of all."""
    topics = project / "seeds" / "topics.csv"
    text = topics.read_text()
    for first, right in ROUTES:
        if right and (not names or first.split(",")[0] in names):
            text = text.replace(first, right)
    topics.write_text(text)


def process(lake, *views, seed=True):
    if seed:
        lake.dbt("seed")
    models = ("events", "row_images", "config.materialized:summary", "path:models/gold/replayed")
    return lake.dbt("run", "-s", *models, *views)


def results(lake, where="kind = 'rejected'"):
    """Return how many messages of each topic were rejected, by reason."""
    rows = lake.query(
        "select topic, reject_reason as reason, count(*) as messages from silver.events"
        f" where {where} group by all"
    )
    return {(row["topic"], row["reason"]): row["messages"] for row in rows}


def in_line(lake):
    """Return the identities that dbt has not processed since bronze was changed."""
    rows = lake.query(
        "select topic, offset from (select *, _metadata.row_commit_version as landed"
        " from bronze.messages) where landed > (select max(bronze_version) from silver.events)"
    )
    return {(row["topic"], row["offset"]) for row in rows}


def commits(lake, model):
    """Return the operations of a stored table's commits that wrote rows, the latest first."""
    history = lake.query(f"describe history gold_storage.{model}")
    return [row["operation"] for row in history if row["operation"] != "UPDATE"]


def audit(lake):
    rows = lake.query("select * from bronze.operations order by bronze_version")
    for row in rows:
        row["selection"] = json.loads(row["selection"])
    return rows


def contents(lake, table):
    """Return all cells of a table but those that tell of the delivery."""
    rows = lake.query(f"select * from {table}")
    left_out = DELIVERY | {"bronze_version", "loaded_at", "ingested_at", "is_late", "is_duplicate"}
    return sorted(({k: v for k, v in row.items() if k not in left_out} for row in rows), key=str)


@pytest.fixture(scope="module")
def landing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("landing")
    write_messages(folder / "all.parquet", messages())
    return folder


@pytest.fixture(scope="module")
def lake(open_lakehouse, landing):
    """All messages, processed once with the routes as they were written first."""
    lake = open_lakehouse("replayed", write_project)
    lake.ingest(landing)
    # The views are those that the singular tests read.
    views = (
        "message_accounting",
        "conflicting_changes",
        "conflicting_messages",
        "dropped_tables",
        "rejected_by_reason",
    )
    process(lake, *views)
    return lake


@pytest.fixture(scope="module")
def right(open_lakehouse, landing):
    """A lakehouse in which the routes were right at first."""

    def write(project):
        write_project(project)
        mend(project)

    lake = open_lakehouse("right", write)
    lake.ingest(landing)
    process(lake)
    return lake


WRONG = {
    ("images.things", "unknown_delete_image"): 7,
    ("mistaken.things", "not_avro"): 3,
    ("avro.items", "unknown_schema"): 6,
    ("lab.things", "not_json"): 1,
    ("nowhere", "unrouted_topic"): 1,
}


def test_filters_take_what_they_say(lake):
    assert results(lake) == WRONG
    mend(lake.project, "images.things", "avro.items")

    code, said, _ = lake.command(
        "replay", "--reason", "unknown_delete_image", "--topic", "im*.things", "--offsets", "1-5"
    )
    assert code == 0
    assert said.splitlines() == [
        "topic          result                format     messages",
        "-------------  --------------------  ---------  --------",
        "images.things  unknown_delete_image  dts_canal         5",
        "5 messages replayed. `dbt build` processes them next, with what "
        "seeds/topics.csv says now.",
    ]
    lake.command("replay", "--topic", "avro.items", "--offsets", "4", "--partition", "0")

    expected = {("images.things", offset) for offset in range(1, 6)} | {("avro.items", 4)}
    assert in_line(lake) == expected
    assert lake.command("replay", "--topic", "avro.items", "--partition", "1")[:2] == (
        0,
        "Nothing to replay: no message matches.\n",
    )
    code, said, _ = lake.command("replay", "--reason", "unknown_delete_image", "--offsets", "-3")
    assert "1 messages replayed" in said
    assert "3 messages are requeued already" in said
    process(lake)
    assert results(lake) == WRONG | {
        ("images.things", "unknown_delete_image"): 1,
        ("images.things", "not_json"): 1,
        ("avro.items", "unknown_schema"): 5,
    }


def test_a_killed_replay_beside_dbt_is_completed(lake, landing):
    """It is killed once bronze has changed, before its audit is written."""
    mend(lake.project)
    script = (
        "import os, sys; from cdc_lakehouse.bronze import operations; "
        "from cdc_lakehouse.console import cli; "
        "operations._append_operation = lambda *_: os.kill(os.getpid(), 9); "
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    environment = os.environ | {"LAKEHOUSE_DIR": str(lake.home)}
    killed = subprocess.Popen(
        [sys.executable, "-c", script, "replay", "--all", "--project-dir", lake.project],
        env=environment,
        start_new_session=True,
    )
    lake.dbt("seed")
    while killed.poll() is None:
        process(lake, seed=False)
    assert killed.returncode == -signal.SIGKILL
    recorded = len(audit(lake))

    code, said, _ = lake.command("replay", "--all")

    assert code == 0
    if "are requeued already" not in said:
        assert "3 messages replayed." in said
        assert "Without a line in seeds/topics.csv, so unrouted now: nowhere." in said
    rows = audit(lake)
    assert rows[recorded]["operation"] == "replay"
    assert rows[recorded]["selection"] == {"all": True}
    assert rows[recorded]["messages"] == 12
    process(lake, seed=False)


def test_rejected_messages_end_as_if_they_had_been_right_at_first(lake, right):
    for name in ("things", "things_history", "items"):
        stored = contents(lake, f"gold_storage.{name}")
        assert stored == contents(right, f"gold_storage.{name}")
        assert contents(lake, f"gold.{name}") == contents(right, f"gold.{name}")
        assert stored
    names = [row["name"] for row in lake.query("select name from gold.things order by id")]
    assert names == ["six, latest", "seven"]
    # Nothing was taken back, so nothing was rebuilt.
    assert set(commits(lake, "things")) == {"WRITE", "MERGE", "CREATE TABLE"}


def test_accepted_messages_are_reprocessed(lake, right):
    where = "topic like '%.widgets'"
    accepted = results(lake, where)
    wrong = contents(lake, "gold.widgets")
    assert len(wrong) == 4
    code, said, _ = lake.command("replay", "--topic", "*.widgets")
    assert (code, said) == (0, "Nothing to replay: no message matches.\n")
    assert results(lake, where) == accepted

    code, said, _ = lake.command("replay", "--processed", "--topic", "*.widgets")

    assert code == 0
    assert "noise.widgets     row_change  dts_shareplex         1" in said
    lake.command("replay", "--processed", "--topic", "avro.items", "--offsets", "1-2")
    process(lake, seed=False)
    names = ("things", "things_history", "items", "widgets", "widgets_history", "others")
    for name in names:
        assert contents(lake, f"gold_storage.{name}") == contents(right, f"gold_storage.{name}")
        assert contents(lake, f"gold.{name}") == contents(right, f"gold.{name}")
    rows = lake.query("select id, name, cast(seen as string) as seen from gold.widgets order by id")
    assert [tuple(row.values()) for row in rows] == [
        (1, "clock", "2026-11-20 12:30:00"),
        (2, "later clock", "2026-11-20 13:30:00"),
    ]
    assert commits(lake, "widgets")[0] == "CREATE OR REPLACE TABLE AS SELECT"
    assert commits(lake, "items")[0] == "CREATE OR REPLACE TABLE AS SELECT"
    assert set(commits(lake, "things")) == {"WRITE", "MERGE", "CREATE TABLE"}


def test_a_message_of_fewer_rows_leaves_none_behind(lake, right):
    where = "where topic = 'noise.widgets'"
    rows = lake.query(f"select row_number, kind, reject_reason from silver.events {where}")
    assert rows == [{"row_number": 0, "kind": "rejected", "reject_reason": "wrong_type"}]
    assert contents(lake, "silver.events") == contents(right, "silver.events")
    lake.dbt("test", "-s", "test_type:singular")


def test_a_replay_of_what_is_right_changes_nothing(lake, right):
    said = process(lake, seed=False)
    assert said["events"] == "NOTHING NEW"
    assert said["widgets"] == "NOTHING NEW"
    lake.command("replay", "--processed", "--topic", "images.things", "--topic", "noise*")
    process(lake, seed=False)
    for name in ("things", "things_history", "widgets"):
        assert contents(lake, f"gold_storage.{name}") == contents(right, f"gold_storage.{name}")
    assert contents(lake, "silver.events") == contents(right, "silver.events")


def test_a_change_log_that_is_rebuilt_knows_what_was_reprocessed(lake, right):
    asked = "show tblproperties silver.events ('cdc_lakehouse.resettled')"
    (known,) = lake.query(asked)
    assert [json.loads(table) for table in json.loads(known["value"])]
    described = lake.query("describe table silver.events")
    assert all(column["comment"] for column in described)

    lake.dbt("run", "--full-refresh", "-s", "events")

    assert lake.query(asked) == [known]
    assert lake.query("describe table silver.events") == described
    process(lake, seed=False)
    assert contents(lake, "silver.events") == contents(right, "silver.events")
    for name in ("things", "things_history", "widgets", "widgets_history", "others"):
        assert contents(lake, f"gold_storage.{name}") == contents(right, f"gold_storage.{name}")


def test_routed_messages_are_audited_once(lake, tmp_path):
    topics = lake.project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "nowhere,dts_canal,,,,\n")
    before = len(audit(lake))
    with hold_beside(lake):
        for command in ("reroute", "replay"):
            code, _, error = lake.command(command, *(["--all"] if command == "replay" else []))
            assert code == 2
            assert "is in use by process" in error
        write_messages(tmp_path / "more.parquet", [("nowhere", 0, 1, b"two")])
        report = lake.ingest(tmp_path)
        assert report.messages == {"nowhere": 1}
        assert not report.rerouted
        assert "The next ingest reroutes" in ingest_text(report)
    assert len(audit(lake)) == before

    assert lake.ingest(tmp_path).rerouted == {("nowhere", "dts_canal"): 1}
    assert lake.command("reroute")[1].startswith("Nothing to reroute")

    rows = audit(lake)
    assert len(rows) == before + 1
    assert rows[-1]["operation"] == "reroute"
    assert rows[-1]["selection"] == {"format": "unrouted", "topics": ["nowhere"]}
    assert rows[-1]["messages"] == 1


def test_the_audit_tells_who_did_what(lake):
    rows = audit(lake)
    assert [(row["selection"], row["messages"]) for row in rows[:4]] == [
        ({"reasons": ["unknown_delete_image"], "topics": ["im*.things"], "offsets": [1, 5]}, 5),
        ({"topics": ["avro.items"], "partition": 0, "offsets": [4, 4]}, 1),
        ({"reasons": ["unknown_delete_image"], "offsets": [None, 3]}, 1),
        ({"all": True}, 12),
    ]
    (history,) = lake.query("select count(*) as n from bronze.operations")
    assert history["n"] == len({row["bronze_version"] for row in rows})
    updates = lake.query("describe history bronze.messages")
    changed = {row["version"] for row in updates if row["operation"] in ("UPDATE", "MERGE")}
    assert {row["bronze_version"] for row in rows} == changed
    assert all(row["performed_by"].count("@") == 1 for row in rows)
    assert [row["began_at"] for row in rows] == sorted(row["began_at"] for row in rows)


def test_unknown_reasons_are_named(lake):
    code, _, error = lake.command("replay", "--reason", "not_jsn")
    assert code == 2
    assert error.startswith("lakehouse: There is no reason not_jsn. The reasons are duplicate_keys")


def hold_beside(lake):
    """Hold the lock of bronze in this process, which is not the lakehouse's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAKEHOUSE_DIR", str(lake.home))
        return hold("bronze", "")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "Say which messages"),
        ({"all": True, "topics": ("a",)}, "--all takes every rejected message"),
        ({"processed": True}, "--processed takes accepted messages"),
        ({"processed": True, "all": True}, "--all takes every rejected message"),
        ({"processed": True, "topics": ("a",), "reasons": ("b",)}, "--processed takes accepted"),
        ({"offsets": (7, 3)}, "--offsets 7-3 holds no offset"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused(given, expected):
    with pytest.raises(LakehouseError) as error:
        Selection(**given).check()
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3-7", (3, 7)), ("3-", (3, None)), ("-7", (None, 7)), ("3", (3, 3)), ("0-0", (0, 0))],
)
def test_ranges_of_offsets(text, expected):
    assert parse_offsets(text) == expected
    assert asdict(Selection(offsets=expected))["offsets"] == expected


@pytest.mark.parametrize("text", ["", "-", "a-b", "1-2-3", "1.5", "\u0661"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(LakehouseError, match="is no range: write FROM-TO"):
        parse_offsets(text)


def test_names_of_an_earlier_release_are_taken_for_their_new_ones(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(
        "cdc_lakehouse.operate.replay.replay", lambda chosen, _: asked.append(chosen) or Replay()
    )
    for given in (["--settled", "--topic", "a"], ["--reason", "no_outcome"], ["--reason", "new"]):
        assert cli.main(["replay", *given, "--project-dir", str(PROJECT)]) == 0
    assert asked == [
        Selection(topics=("a",), processed=True),
        Selection(reasons=("no_result",)),
        Selection(reasons=("new",)),
    ]
    assert asked[0].noted() == {"topics": ("a",), "settled": True}  # as in rows of before
    assert capsys.readouterr().err.splitlines() == [
        "lakehouse: --settled is called --processed now; 0.3.0 removes it.",
        "lakehouse: --reason no_outcome is called --reason no_result now; 0.3.0 removes it.",
    ]


def test_without_silver_there_is_nothing_to_replay(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    assert cli.main(["replay", "--all", "--project-dir", str(PROJECT)]) == 2
    assert "has no silver.events yet" in capsys.readouterr().err


def test_the_reasons_are_those_that_silver_documents():
    text = (PROJECT / "models" / "silver" / "_silver.md").read_text()
    documented = text.split("{% docs reject_reason %}")[1].split("{% enddocs %}")[0]
    assert set(REASONS) == set(documented.split("`")[1::2])
