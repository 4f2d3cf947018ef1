"""Landing Kafka's topics from a real broker: every message once, and no loss without a word."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from broker import LOGIN, PASSWORD, USER, Broker
from conftest import PROJECT
from shop import TABLES, as_expected, expected_rows, sample_messages, write_messages

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.console import cli
from cdc_lakehouse.console.report import kafka_text
from cdc_lakehouse.delta.log import appended_since
from cdc_lakehouse.delta.statistics import extents_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.backfill import Request as Backfill
from cdc_lakehouse.ingest.backfill import backfill
from cdc_lakehouse.ingest.kafka.checkpoint import Checkpoint
from cdc_lakehouse.ingest.kafka.options import Request, is_open_secret
from cdc_lakehouse.ingest.kafka.source import ingest_kafka
from cdc_lakehouse.ingest.names import Names
from cdc_lakehouse.runtime.locks import hold
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import open_session

pytestmark = pytest.mark.full

TOPICS = """topic,format,time_zone,avro_schema,delete_image,database
store.orders,dts_canal,,,,
store.*,oms_canal,,,,
store.o*,drs_json,,,,
"""
SCRAM = f'{LOGIN} required username="{USER}" password='


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.stop()


@pytest.fixture
def lake(broker, spark, tmp_path, monkeypatch):
    """A project with an empty lakehouse, in folders whose names need care."""
    home = tmp_path / "lake [1]'s house"
    monkeypatch.setenv("LAKEHOUSE_DIR", str(home))
    project = tmp_path / "project"
    (project / "seeds").mkdir(parents=True)
    (project / "seeds" / "topics.csv").write_text(TOPICS)
    (project / "dbt_project.yml").write_text("name: test\n")
    return Lake(broker, project, home)


class Lake:
    def __init__(self, broker, project, home):
        self.broker, self.project, self.home = broker, project, home
        self.checkpoint = home / "checkpoints" / "kafka" / "kafka"

    def ingest(self, subscribe="", **asked):
        request = Request(bootstrap_servers=self.broker.plain, subscribe=subscribe, **asked)
        return ingest_kafka(request, project_dir=self.project)

    def rows(self, *columns, table="messages"):
        frame = bronze.read(open_session(metastore=False), table)
        rows = [tuple(row) for row in frame.select(*columns).collect()]
        return sorted(rows, key=lambda row: [(value is not None, value) for value in row])

    def offsets(self, topic):
        """Return the landed offsets of a topic's first partition, each as often as it is there."""
        rows = self.rows("topic", "partition", "offset")
        return [offset for name, partition, offset in rows if (name, partition) == (topic, 0)]

    def commits(self):
        log = warehouse_path("bronze", "messages") / "_delta_log"
        return len(list(log.glob("*.json")))

    def command(self, *arguments, does="ingest", **options):
        """Start the command line in a process of its own."""
        command = [sys.executable, "-m", "cdc_lakehouse.console.cli", does, "kafka", *arguments]
        environment = {**os.environ, "LAKEHOUSE_DIR": str(self.home), **options}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
        return subprocess.Popen(command, cwd=self.project, env=environment, text=True, **pipes)


def values(*numbers):
    return [b"%d" % number for number in numbers]


@pytest.fixture
def topic(broker, request):
    """A topic of one partition with the messages 0 to 4, named after the test."""
    return broker.make_topic(
        re.sub(r"[^a-z_]+", ".", request.node.name), messages=values(*range(5))
    )


def test_every_message_lands_byte_for_byte(lake, broker):
    broker.make_topic("store.orders", partitions=3)
    broker.make_topic("store.one")
    broker.make_topic("stores")
    producer = broker.producer()
    headers = [("trace", b"\x00\xff"), ("empty", b""), ("none", None), ("trace", b"again")]
    first = {"value": b"\xff\x00not text", "key": b"\x80key", "headers": headers}
    producer.produce("store.orders", partition=0, timestamp=1_700_000_000_123, **first)
    producer.produce("store.orders", partition=0, timestamp=1, value=None, key=b"gone")
    producer.produce("store.orders", partition=2, timestamp=2, value=b"", key=None)
    producer.produce("store.one", partition=0, timestamp=3, value=b"one")
    producer.produce("stores", partition=0, timestamp=4, value=b"two")
    producer.flush()
    before = datetime.now(UTC).replace(tzinfo=None)
    report = lake.ingest("store.orders, store.one,stores")
    assert [(topic, partition, *rest) for topic, partition, *rest in report.landed] == [
        ("store.one", 0, "drs_json", 1, 0, 0),
        ("store.orders", 0, "dts_canal", 2, 0, 1),
        ("store.orders", 2, "dts_canal", 1, 0, 0),
        ("stores", 0, "unrouted", 1, 0, 0),
    ]
    assert "Unrouted: stores. Add a line each to seeds/topics.csv, then run" in kafka_text(report)
    assert "3 topics, 5 messages" in kafka_text(report)
    moment = datetime(2023, 11, 14, 22, 13, 20, 123000)
    kinds = ("topic", "partition", "offset", "key", "value", "timestamp_type", "format")
    assert lake.rows(*kinds) == [
        ("store.one", 0, 0, None, b"one", 0, "drs_json"),
        ("store.orders", 0, 0, b"\x80key", b"\xff\x00not text", 0, "dts_canal"),
        ("store.orders", 0, 1, b"gone", None, 0, "dts_canal"),
        ("store.orders", 2, 0, None, b"", 0, "dts_canal"),
        ("stores", 0, 0, None, b"two", 0, "unrouted"),
    ]
    epoch = [datetime(1970, 1, 1, 0, 0, 0, 1000 * number) for number in (1, 2, 3, 4)]
    assert [time for (time,) in lake.rows("timestamp")] == [*epoch, moment]
    landed = [row for row in lake.rows("offset", "headers", "topic", "partition") if row[1]]
    assert [(each.key, each.value) for each in landed[0][1]] == headers and len(landed) == 1
    assert {
        before <= time <= datetime.now(UTC).replace(tzinfo=None)
        for (time,) in lake.rows("ingested_at")
    } == {True}
    assert len(set(lake.rows("ingested_at"))) == 1
    # The commit says that it has each message once, and its files where they lie.
    (files,) = appended_since(warehouse_path("bronze", "messages"), 0, 1, bronze.EACH_ONCE)
    found = [(extent.least, extent.greatest) for extent in extents_of(files, bronze.IDENTITY)]
    assert (("store.orders", 0, 0), ("store.orders", 0, 1)) in found

    commits = lake.commits()
    again = lake.ingest("store.orders,store.one,stores")
    assert again.landed == [] and lake.commits() == commits
    assert "Nothing to land: no message is new in the 3 topics that were read." in kafka_text(again)

    with open(lake.project / "seeds" / "topics.csv", "a") as routes:
        routes.write("stores,drs_json_c,,,,\n")
    assert lake.ingest("store.orders,store.one,stores").rerouted == {("stores", "drs_json_c"): 1}
    assert ("stores", "drs_json_c") in lake.rows("topic", "format")


def test_only_what_a_transaction_committed_lands(lake, broker):
    broker.make_topic("transactions")
    producer = broker.producer(transactional_id="test")
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce("transactions", value=b"%d" % number)
        producer.flush()
        (producer.abort_transaction if number % 2 else producer.commit_transaction)()
    lake.ingest("transactions")
    # Three messages and a marker each: the second and the fourth were aborted.
    assert lake.rows("offset", "value") == [
        *((offset, b"0") for offset in (0, 1, 2)),
        *((offset, b"2") for offset in (8, 9, 10)),
    ]
    commits = lake.commits()
    lake.ingest("transactions")
    assert lake.offsets("transactions") == [0, 1, 2, 8, 9, 10] and lake.commits() == commits
    # A batch without a message is no sign that bronze has gone back.
    producer.begin_transaction()
    producer.produce("transactions", value=b"aborted")
    producer.flush()
    producer.abort_transaction()
    for _ in range(2):
        lake.ingest("transactions")
    # A checkpoint that is lost goes on behind the last message: the aborted offsets are read again.
    shutil.rmtree(lake.checkpoint)
    lake.ingest("transactions", recover=True)
    assert lake.offsets("transactions") == [0, 1, 2, 8, 9, 10]


@pytest.mark.long
def test_topics_are_found_by_a_pattern(lake, broker):
    for name in ("found.a", "found.b", "notfound.c"):
        broker.make_topic(name, messages=values(0))
    with pytest.raises(
        LakehouseError, match=r"No topic of .* matches nothing\..*--subscribe-pattern"
    ):
        lake.ingest(subscribe_pattern="nothing")
    with pytest.raises(LakehouseError, match="no regular expression of Java: Unclosed"):
        lake.ingest(subscribe_pattern="found(")
    lake.ingest(subscribe_pattern="found[.].*")
    broker.make_topic("found.d", messages=values(0, 1))
    lake.ingest(subscribe_pattern="found[.].*")
    assert lake.rows("topic", "offset") == [
        ("found.a", 0),
        ("found.b", 0),
        ("found.d", 0),
        ("found.d", 1),
    ]


@pytest.mark.long
def test_partitions_are_assigned_and_bounded(lake, broker):
    broker.make_topic("assigned", partitions=2, messages=values(*range(10)))
    broker.produce("assigned", *values(*range(4)), partition=1)
    one = {"assign": json.dumps({"assigned": [0]})}
    with pytest.raises(LakehouseError, match="no partition 7"):
        lake.ingest(assign='{"assigned": [7]}')
    lake.ingest(**one, limit=3)
    assert lake.offsets("assigned") == [0, 1, 2]
    commits = lake.commits()
    lake.ingest(**one, max_offsets=2)
    assert lake.offsets("assigned") == list(range(10)) and lake.commits() == commits + 4
    # Another partition joins the stream, then the first leaves it.
    lake.ingest(assign=json.dumps({"assigned": [0, 1]}))
    report = lake.ingest(assign=json.dumps({"assigned": [1]}))
    assert "assigned/0 is no longer read; bronze keeps what it has." in report.notes
    broker.produce("assigned", b"4", partition=1)
    assert lake.ingest(assign=json.dumps({"assigned": [1]})).landed == [
        ("assigned", 1, "unrouted", 1, 4, 4)
    ]
    assert len(lake.rows("offset")) == 15


@pytest.mark.long
def test_a_new_stream_starts_where_it_is_told(lake, broker, topic):
    start = json.dumps({topic: {"0": 3}})
    with pytest.raises(LakehouseError, match=r"from 0 to before 5, not 9\. Choose one of these"):
        lake.ingest(topic, starting_offsets=json.dumps({topic: {"0": 9}}))
    lake.ingest(topic, starting_offsets=start)
    assert lake.offsets(topic) == [3, 4]
    with pytest.raises(LakehouseError, match=r"no checkpoint .*other.*--recover"):
        lake.ingest(topic, name="other")
    lake.ingest(topic, name="other", starting_offsets="latest")
    broker.produce(topic, b"5")
    lake.ingest(topic, name="other", starting_offsets="earliest")  # it has begun: no such start
    assert lake.offsets(topic) == [3, 4, 5]
    later = lake.ingest(topic, name="later", starting_timestamp=int(time.time() * 1000) + 60_000)
    assert later.landed == []


def test_deleted_offsets_are_refused_until_they_are_accepted(lake, broker, topic, monkeypatch):
    lake.ingest(topic)
    broker.produce(topic, *values(*range(5, 20)))
    broker.delete_before(topic, 12)
    commits = lake.commits()
    missing = (
        rf"{topic}/0, offsets 5 to 11 \(7\), were deleted before they were read.*--accept-gaps"
    )
    with pytest.raises(LakehouseError, match=missing):
        lake.ingest(topic)
    assert lake.commits() == commits and lake.rows("topic", table="offset_gaps") == []

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Checkpoint, "begin", killed)  # the gap is recorded, the checkpoint is not new
        lake.ingest(topic, accept_gaps=True)
    broker.delete_before(topic, 14)
    report = lake.ingest(topic, accept_gaps=True)
    assert f"Accepted: {topic}/0 lacks offsets 5 to 13 (9)" in kafka_text(report)
    assert report.landed == [(topic, 0, "unrouted", 6, 14, 19)]
    gap = ("topic", "partition", "first_offset", "last_offset")
    assert lake.rows(*gap, table="offset_gaps") == [(topic, 0, 5, 13)]
    assert lake.ingest(topic, accept_gaps=True).notes == []
    assert lake.offsets(topic) == [0, 1, 2, 3, 4, *range(14, 20)]
    # The old checkpoint was set aside, not deleted.
    assert len(list(lake.checkpoint.parent.glob("kafka.*/commits/0"))) == 1


def test_a_topic_that_is_gone_is_named(lake, broker, topic):
    both = f"{topic}|stays"
    broker.make_topic("stays", messages=values(0))
    lake.ingest(subscribe_pattern=both)
    broker.delete_topic(topic)
    with pytest.raises(LakehouseError, match=f"There is no topic {topic} on .* leave it out"):
        lake.ingest(topic)
    with pytest.raises(
        LakehouseError, match=f"{topic}/0, read up to offset 5, is gone.*--accept-gaps"
    ):
        lake.ingest(subscribe_pattern=both)
    broker.produce("stays", b"1")
    report = lake.ingest(subscribe_pattern=both, accept_gaps=True)
    assert f"Accepted: {topic}/0 is gone from Kafka." in report.notes
    assert report.landed == [("stays", 0, "unrouted", 1, 1, 1)]


@pytest.mark.parametrize("messages", [2, 9])
def test_a_recreated_topic_is_refused(lake, broker, messages):
    topic = broker.make_topic(f"recreated.{messages}", messages=values(*range(5)))
    lake.ingest(topic)
    broker.delete_topic(topic)
    broker.make_topic(topic, messages=values(*range(messages)))
    with pytest.raises(
        LakehouseError, match=f"The topic {topic} was deleted and recreated.*other name"
    ):
        lake.ingest(topic)
    (lake.checkpoint / "topic_ids.json").write_text("{}")
    if messages == 2:
        with pytest.raises(LakehouseError, match="read up to offset 5, but Kafka's ends before 2"):
            lake.ingest(topic)
    assert lake.offsets(topic) == [0, 1, 2, 3, 4]


def test_a_deleted_checkpoint_is_recovered_from_bronze(lake, broker, topic):
    lake.ingest(topic)
    shutil.rmtree(lake.checkpoint)
    broker.produce(topic, b"5")
    with pytest.raises(
        LakehouseError, match=rf"no checkpoint .*--recover .* from {topic}/0 at 5\."
    ):
        lake.ingest(topic)
    assert lake.ingest(topic, recover=True).landed == [(topic, 0, "unrouted", 1, 5, 5)]
    assert lake.offsets(topic) == list(range(6))
    assert lake.ingest(topic, recover=True).landed == []


def archive(lake, topic, *offsets):
    """Land an archive of the topic beside the stream."""
    path = lake.project / f"{len(offsets)}.parquet"
    write_messages(path, [("prod." + topic, 0, offset, b"%d" % offset) for offset in offsets])
    names = Names.parse(["prod.*=*"])
    return backfill(Backfill(paths=(str(path),), names=names), project_dir=lake.project)


def test_an_archive_beside_a_stream_moves_no_offset(lake, broker, topic):
    lake.ingest(topic)
    before = {path: path.read_bytes() for path in lake.checkpoint.rglob("*") if path.is_file()}
    assert archive(lake, topic, 0, 2, 9).messages == {topic: 3}
    after = {path: path.read_bytes() for path in lake.checkpoint.rglob("*") if path.is_file()}
    assert after == before
    broker.produce(topic, b"5")
    assert lake.ingest(topic).landed == [(topic, 0, "unrouted", 1, 5, 5)]
    shutil.rmtree(lake.checkpoint)
    broker.produce(topic, b"6")
    # Not behind the archive, which lacks what Kafka still has.
    with pytest.raises(LakehouseError, match=rf"no checkpoint .* from {topic}/0 at 6\."):
        lake.ingest(topic)
    assert lake.ingest(topic, recover=True).landed == [(topic, 0, "unrouted", 1, 6, 6)]
    assert lake.offsets(topic) == [0, 0, 1, 2, 2, 3, 4, 5, 6, 9]


def test_a_stream_begins_where_kafka_does_though_an_archive_came_first(lake, broker, topic):
    archive(lake, topic, 1, 3)
    assert lake.ingest(topic).landed == [(topic, 0, "unrouted", 5, 0, 4)]
    assert lake.offsets(topic) == [0, 1, 1, 2, 3, 3, 4]


def damage(path):
    path.write_bytes(path.read_bytes()[:-3])


DAMAGES = {
    "offsets are cut": lambda folder: damage(folder / "offsets/1"),
    "offsets are garbage": lambda folder: (folder / "offsets/1").write_bytes(b"\x00garbage"),
    "a commit is empty": lambda folder: (folder / "commits/1").write_bytes(b""),
    "the metadata is cut": lambda folder: damage(folder / "metadata"),
    "the metadata is gone": lambda folder: (folder / "metadata").unlink(),
    "the offsets are gone": lambda folder: shutil.rmtree(folder / "offsets"),
    "all but the start is gone": lambda folder: [
        shutil.rmtree(folder / "offsets"),
        shutil.rmtree(folder / "commits"),
    ],
}


@pytest.fixture(scope="module")
def read_twice(broker, spark, tmp_path_factory):
    """A lakehouse that has landed 0 to 4 and then 5, to copy."""
    home = tmp_path_factory.mktemp("read_twice")
    (home / "seeds").mkdir()
    (home / "seeds" / "topics.csv").write_text(TOPICS)
    topic = broker.make_topic("read.twice", messages=values(*range(5)))
    request = Request(bootstrap_servers=broker.plain, subscribe=topic)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAKEHOUSE_DIR", str(home / "lake"))
        ingest_kafka(request, project_dir=home)
        broker.produce(topic, b"5")
        ingest_kafka(request, project_dir=home)
    broker.produce(topic, b"6")
    return home / "lake"


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_checkpoint_is_recovered_from_bronze(lake, read_twice, kind):
    shutil.copytree(read_twice, lake.home)
    DAMAGES[kind](lake.checkpoint)
    with pytest.raises(
        LakehouseError, match=r"The checkpoint .* --recover .* from read.twice/0 at 6\."
    ):
        lake.ingest("read.twice")
    report = lake.ingest("read.twice", recover=True)
    assert lake.offsets("read.twice") == list(range(7))
    assert any("The checkpoint was begun again; the old one is" in note for note in report.notes)


def test_a_checkpoint_ahead_of_bronze_is_refused_until_it_is_recovered(lake, read_twice):
    shutil.copytree(read_twice, lake.home)
    spark = open_session(metastore=False)
    spark.sql(f"restore table {bronze.by_path('messages')} to version as of 1")
    found = r"has read up to batch 1, but bronze.messages has it up to batch 0: bronze was restored"
    for _ in range(2):
        with pytest.raises(
            LakehouseError, match=rf"{found}.* --recover .* from read.twice/0 at 5\."
        ):
            lake.ingest("read.twice")
    lake.ingest("read.twice", recover=True)
    assert lake.offsets("read.twice") == list(range(7))


def test_a_checkpoint_of_another_bronze_is_refused(lake, read_twice):
    shutil.copytree(read_twice, lake.home)
    kept = lake.checkpoint / "bronze.json"
    known = json.loads(kept.read_text())
    kept.write_text(json.dumps(known | {"commit": "that of another lakehouse"}))
    with pytest.raises(LakehouseError, match=r"has another commit 2 than it had then.* --recover"):
        lake.ingest("read.twice")
    kept.unlink()  # as an earlier release has left it
    lake.ingest("read.twice")
    assert lake.offsets("read.twice") == list(range(7))


def test_a_batch_that_bronze_has_is_not_landed_again(lake, broker, read_twice):
    """As after a kill between Delta's commit and that of the checkpoint."""
    shutil.copytree(read_twice, lake.home)
    for name in ("commits/1", "commits/.1.crc"):
        (lake.checkpoint / name).unlink()
    lake.ingest("read.twice")
    assert lake.offsets("read.twice") == list(range(7))
    for name in ("commits/2", "commits/.2.crc"):
        (lake.checkpoint / name).unlink()
    # Another subscription takes a new checkpoint, which must know as much.
    broker.make_topic("also", messages=values(0))
    lake.ingest(assign='{"also": [0]}')
    lake.ingest("read.twice,also")
    assert lake.offsets("read.twice") == list(range(7)) and lake.offsets("also") == [0]


def test_a_batch_that_was_planned_but_never_landed_lands_once(lake, broker, read_twice):
    """As after a kill between the checkpoint's plan and Delta's commit."""
    shutil.copytree(read_twice, lake.home)
    lake.ingest("read.twice")
    planned = (lake.checkpoint / "offsets/2").read_text()
    shutil.rmtree(lake.home)
    shutil.copytree(read_twice, lake.home)
    (lake.checkpoint / "offsets/2").write_text(planned)
    lake.ingest("read.twice")
    assert lake.offsets("read.twice") == list(range(7))


@pytest.mark.parametrize("killed_at", [1, 2, 3])
def test_a_kill_leaves_the_old_checkpoint_or_the_new(tmp_path, monkeypatch, killed_at):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    Checkpoint(None, "kafka").begin({("a", 0): 1})
    rename, renames = Path.rename, []

    def killed(path, target):
        renames.append(target)
        if len(renames) == killed_at:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", killed)
        Checkpoint(None, "kafka").begin({("a", 0): 2})
    path = Checkpoint(None, "kafka").path
    offset = 2 if killed_at == 3 else 1
    assert json.loads((path / "starting_offsets.json").read_text()) == {"a": {"0": offset}}
    shutil.rmtree(path)
    assert not Checkpoint(None, "kafka").exists()


def test_a_stream_runs_once_at_a_time(lake, topic):
    with (
        hold("kafka-kafka", "Wait."),
        pytest.raises(LakehouseError, match=r"in use by process .*name another with --name"),
    ):
        lake.ingest(topic)
    with hold("bronze", "Wait."):
        assert lake.ingest(topic).landed  # only its rerouting waits


def test_a_lone_secret_is_told_from_a_reference():
    jaas = f'{SCRAM}"${{env:PW}}";'
    assert not is_open_secret("kafka.sasl.jaas.config", jaas)
    assert is_open_secret("kafka.sasl.jaas.config", f'{SCRAM}"plain";')
    assert is_open_secret("kafka.sasl.jaas.config", f"{SCRAM} plain;")
    assert is_open_secret("kafka.ssl.keystore.password", "plain")
    assert is_open_secret("kafka.ssl.keystore.key", "-----BEGIN")
    assert not is_open_secret("kafka.ssl.keystore.password", "${file:/etc/secrets:password}")
    assert not is_open_secret("kafka.ssl.truststore.location", "/etc/trust.jks")


WRONG = {
    "no way": ([], "in one way"),
    "two ways": (["--subscribe", "a", "--assign", '{"a": [0]}'], "in one way"),
    "bad assign": (["--assign", "a"], "is not of the kind"),
    "bad start": (["--subscribe", "a", "--starting-offsets", "{"], "neither earliest nor latest"),
    "taken": (["--subscribe", "a", "--option", "failOnDataLoss=false"], "always true"),
    "no pair": (["--subscribe", "a", "--option", "x"], "NAME=VALUE"),
    "name": (["--subscribe", "a", "--name", "../x"], "the name of a stream"),
    "secret": (["--subscribe", "a", "--option", "ssl.key.password=hush"], "--options-file"),
    "down": (["--subscribe", "a", "--bootstrap-servers", "127.0.0.1:1"], "No Kafka broker answers"),
    "server": (["--subscribe", "a", "--bootstrap-servers", "here"], "write HOST:PORT"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_command_is_refused_in_a_sentence(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    arguments, said = WRONG[kind]
    assert cli.main(["ingest", "kafka", "--project-dir", str(PROJECT), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.startswith("lakehouse: ") and error.count("\n") == 1
    assert "hush" not in error


def test_what_is_missing_is_named(lake, broker, topic, tmp_path):
    with pytest.raises(LakehouseError, match=r"There is no topic nowhere on .* Correct its name"):
        lake.ingest(f"{topic},nowhere")
    with pytest.raises(LakehouseError, match=r"may want TLS or SASL"):
        lake.ingest(topic, options={"kafka.security.protocol": "SSL"})
    with pytest.raises(LakehouseError, match=r"The environment has no NO_SUCH, which"):
        lake.ingest(topic, options={"kafka.ssl.key.password": "${env:NO_SUCH}"})
    with pytest.raises(LakehouseError, match=r"not a regular file"):
        lake.ingest(topic, options_file=str(tmp_path))


def found(text, *places):
    """Return the files below the places that hold a text."""
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


def test_secrets_reach_kafka_and_nothing_else(lake, broker, topic, spark, capfd):
    """With SCRAM: from the environment, right and wrong, and from a file, forbidden and allowed."""
    options = {"security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "SCRAM-SHA-512"}
    options["sasl.jaas.config"] = f'{SCRAM}"${{env:KAFKA_PASSWORD}}";'
    listed = [f"--option={name}={value}" for name, value in options.items()]
    asked = ["--bootstrap-servers", broker.sasl, "--subscribe", topic, *listed]
    process = lake.command(*asked, KAFKA_PASSWORD="wrong-" + PASSWORD)
    _, error = process.communicate()
    assert process.returncode == 2 and error.count("\n") == 1 and PASSWORD not in error
    assert f"lakehouse: {broker.sasl} refuses the authentication" in error

    file = lake.project.parent / "secrets.properties"
    lines = [f"{name}={value}" for name, value in options.items()]
    text = "\n".join(lines).replace('="${env:KAFKA_PASSWORD}"', f'=\\\n  "{PASSWORD}"')
    file.write_text(text)
    request = Request(broker.sasl, topic, options_file=str(file))
    forbidden = f"does not authorise the reading of the topic {topic}"
    with pytest.raises(LakehouseError, match=forbidden) as refused:
        ingest_kafka(request, lake.project)
    broker.allow_reading(topic)
    assert ingest_kafka(request, lake.project).landed == [(topic, 0, "unrouted", 5, 0, 4)]

    broker.produce(topic, b"5")
    process = lake.command(*asked, KAFKA_PASSWORD=PASSWORD)
    listed = b""
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # a process that has ended meanwhile
                listed += (
                    path.read_bytes() if os.getsid(int(path.parent.name)) == process.pid else b""
                )
        time.sleep(0.5)
    said = process.communicate()
    assert process.returncode == 0 and "1 messages" in said[0], said
    assert PASSWORD.encode() not in listed and b"SparkSubmit" in listed
    assert lake.offsets(topic) == list(range(6))
    assert PASSWORD not in "".join([*said, *capfd.readouterr(), str(refused.value)])
    home = Path(spark.conf.get("spark.local.dir")).parent
    assert found(PASSWORD, lake.home, home) == []
    assert found(PASSWORD, file.parent) == [file] and found(topic, lake.home)


@pytest.mark.long
def test_a_run_that_stays_up_ends_with_a_signal(lake, broker, topic):
    pattern = ["--subscribe-pattern", re.escape(topic) + "|later[.]made"]
    asked = ["--bootstrap-servers", broker.plain, "--continuous", "--every", "0.5", "--json"]
    option = ["--option", "kafka.metadata.max.age.ms=1000"]
    process = lake.command(*asked, *pattern, *option)

    def wait_for(number):
        while process.poll() is None:
            with suppress(Exception):
                if len(lake.rows("offset")) == number:
                    return
            time.sleep(0.3)
        raise AssertionError(process.communicate())

    wait_for(5)
    broker.make_topic("later.made", messages=values(0, 1))
    wait_for(7)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "SIGTERM: stopping after the batch at work" in err and "2 topics, 7 messages" in err
    # Each batch is told once it has landed, the last one perhaps by the report alone.
    *batches, report = map(json.loads, out.splitlines())
    assert batches[0] == {"batch": 0, "messages": 5}
    assert sum(row["messages"] for row in report["landed"]) == 7
    assert lake.ingest(subscribe_pattern=pattern[1]).landed == []


@pytest.mark.long
def test_what_is_new_lands_where_dbt_has_no_profile_to_build_with(lake, broker, topic):
    process = lake.command("--bootstrap-servers", broker.plain, "--subscribe", topic, does="run")
    out, err = process.communicate()
    assert process.returncode == 1, err
    assert "1 topics, 5 messages" in out and "Nothing was built: dbt cannot read" in out
    assert lake.offsets(topic) == list(range(5))


def test_retention_that_deletes_while_the_stream_reads_is_told(lake, broker, topic, monkeypatch):
    """The preflight sees all, then Kafka deletes: Spark stops, and the sentence names the range."""
    lake.ingest(topic)
    broker.produce(topic, *values(*range(5, 9)))
    begun = Checkpoint.keep_topic_ids

    def delete_then_begin(*arguments):
        begun(*arguments)
        broker.delete_before(topic, 8)

    monkeypatch.setattr(Checkpoint, "keep_topic_ids", delete_then_begin)
    with pytest.raises(LakehouseError, match=rf"{topic}/0, offsets 5 to 7 \(3\), were deleted"):
        lake.ingest(topic)


@pytest.mark.long
def test_gold_is_as_expected_from_kafka(open_lakehouse, broker):
    """Kafka to gold, and a gap that message_accounting shows before anything newer has landed."""
    lakehouse = open_lakehouse("kafka")
    messages = [row for row in sample_messages() if not row[0].startswith("vendor.")]
    topics = sorted({topic for topic, _ in messages})
    for topic in topics:
        values = [value for name, value in messages if name == topic]
        broker.make_topic(topic, partitions=2, messages=values)
    asked = {"bootstrap_servers": broker.plain, "subscribe": ",".join(topics)}
    report = lakehouse.ingest_kafka(Request(**asked, max_offsets=50))
    assert sum(row[3] for row in report.landed) == len(messages)
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", "path:models/silver", *TABLES)
    for table in TABLES:
        assert as_expected(lakehouse, table) == expected_rows(table)

    for partition in (0, 1):  # nothing of the second has ever landed
        broker.produce("shop.orders", b"lost", b"lost too", partition=partition)
    accounting = "select partition, messages, missing_offsets from silver.message_accounting"
    accounting += " where topic = 'shop.orders' order by partition"
    [before] = lakehouse.query(accounting)
    broker.delete_before("shop.orders", before["messages"] + 2)
    broker.delete_before("shop.orders", 1, partition=1)
    report = lakehouse.ingest_kafka(Request(**asked, accept_gaps=True))
    assert report.landed == [("shop.orders", 1, "dts_canal", 1, 1, 1)]
    assert lakehouse.query(accounting) == [
        {"partition": 0, "messages": before["messages"], "missing_offsets": 2},
        {"partition": 1, "messages": 1, "missing_offsets": 1},
    ]
    lakehouse.dbt("run", "-s", "path:models/silver")
    lakehouse.dbt("test", "-s", "test_type:singular")
