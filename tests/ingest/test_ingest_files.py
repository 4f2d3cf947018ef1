"""Landing files: every message once, byte for byte, whatever the file and whenever it is killed."""

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from terminal import terminal_as_stderr

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.console import cli
from cdc_lakehouse.console.report import ingest_text
from cdc_lakehouse.delta.log import appended_since
from cdc_lakehouse.delta.statistics import Extent, extents_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest import files
from cdc_lakehouse.ingest.landing import ingest_files
from cdc_lakehouse.runtime import progress
from cdc_lakehouse.runtime.locks import hold
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import open_session

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]

TOPICS = """topic,format,time_zone,avro_schema,delete_image,database
shop.orders,dts_canal,,,,
shop.*,oms_canal,,,,
"""
MODIFIED_NS = 1_700_000_000_123_456_789
MODIFIED = datetime(2023, 11, 14, 22, 13, 20, 123456)


def make_lake(tmp_path, monkeypatch, topics):
    """Make a project with an empty lakehouse, in folders whose names need care, and routes."""
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake [1]'s house"))
    project = tmp_path / "project"
    (project / "seeds").mkdir(parents=True)
    (project / "seeds" / "topics.csv").write_text(topics)
    (project / "dbt_project.yml").write_text("name: test\n")
    return Lake(project, tmp_path / "landing")


@pytest.fixture
def lake(tmp_path, monkeypatch):
    return make_lake(tmp_path, monkeypatch, TOPICS)


class Lake:
    def __init__(self, project, landing):
        self.project, self.landing = project, landing
        landing.mkdir()

    def put(self, name, content: bytes):
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))
        return path

    def put_parquet(self, name, columns, **options):
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path, **options)
        return path

    def add_route(self, line):
        with open(self.project / "seeds" / "topics.csv", "a") as file:
            file.write(line + "\n")

    def ingest(self, path=None, topic=None):
        return ingest_files(path or self.landing, topic=topic, project_dir=self.project)

    def rows(self, *columns, table="messages"):
        frame = bronze.read(open_session(metastore=False), table)
        return sorted(tuple(row) for row in frame.select(*columns).collect())

    def commits(self):
        log = warehouse_path("bronze", "messages") / "_delta_log"
        return len(list(log.glob("*.json")))


def kafka(offsets, topic="shop.orders", partition=3, **columns):
    count = len(offsets)
    return {
        "topic": pa.array([topic] * count),
        "partition": pa.array([partition] * count, pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
        "value": pa.array([f"m{offset}".encode() for offset in offsets], pa.binary()),
        **columns,
    }


def test_one_file_can_be_named(lake):
    path = lake.put("orders/one.json", b"{}\n")
    lake.put("orders/two.json", b"{}\n")
    report = lake.ingest(path)
    assert (report.found, report.problems, report.messages) == (1, [], {"orders": 1})


def test_a_line_file_lands_byte_for_byte(lake):
    lake.put("shop.orders/a.jsonl", b'{"a":1}\r\n\n\xff\x00 \r\nx\ry\n last\r')
    lake.put("shop.items/b.txt.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    lake.put("shop.items/empty.json", b"")

    report = lake.ingest()

    assert lake.rows("topic", "partition", "offset", "value", "format") == [
        ("shop.items", 0, 0, b"one", "oms_canal"),
        ("shop.items", 0, 1, b"two", "oms_canal"),
        ("shop.orders", 0, 0, b'{"a":1}', "dts_canal"),
        ("shop.orders", 0, 1, b"", "dts_canal"),
        ("shop.orders", 0, 2, b"\xff\x00 ", "dts_canal"),
        ("shop.orders", 0, 3, b"x\ry", "dts_canal"),
        ("shop.orders", 0, 4, b" last\r", "dts_canal"),
    ]
    landed = bronze.read(open_session(metastore=False), "messages")
    assert set(landed.select("timestamp", "timestamp_type", "key", "headers").collect()) == {
        (MODIFIED, 0, None, None)
    }
    assert landed.select("ingested_at").distinct().count() == 1
    assert (report.files, report.bytes, report.problems) == (3, 7 + 0 + 3 + 3 + 6 + 3 + 3, [])
    assert report.messages == {"shop.orders": 5, "shop.items": 2}
    assert lake.commits() == 2
    assert landed.schema.simpleString() == (
        "struct<topic:string,partition:int,offset:bigint,timestamp:timestamp,timestamp_type:int,"
        "key:binary,value:binary,headers:array<struct<key:string,value:binary>>,format:string,"
        "ingested_at:timestamp>"
    )


def test_line_files_keep_their_partition_and_changed_ones_land_again(lake):
    lake.put("shop.orders/b.json", b"b\n")
    lake.put("shop.orders/c.json", b"c\n")
    lake.ingest()
    os.utime(lake.put("shop.orders/b.json", b"b\n"), ns=(5, 5))  # touched only
    changed = lake.put("shop.orders/c.json", b"c\nd\n")
    lake.put("shop.orders/a.json", b"a\n")

    report = lake.ingest()

    assert report.files == 2
    assert report.notes == [f"{changed} has changed since it was landed: landed again as a whole."]
    assert lake.rows("partition", "offset", "value") == [
        (0, 0, b"b"),
        (1, 0, b"c"),
        (1, 0, b"c"),
        (1, 1, b"d"),
        (2, 0, b"a"),
    ]
    assert ingest_text(lake.ingest()) == "Nothing to land: 3 files found, all landed before."
    lake.put("shop.orders/d.doc", b"d\n")
    said = ingest_text(lake.ingest()).splitlines()
    assert said[:2] == ["Nothing to land: 3 files found, all landed before.", "Not landed (1):"]
    assert lake.commits() == 3


# What the steps of one file write, and under which numbers the lines are afterwards.
REWRITTEN = {
    "overwritten": ([b"a\nb\n", b"c\nd\n"], {0: [b"a", b"b"], 1: [b"c", b"d"]}),
    "overwritten, longer": ([b"a\nb\n", b"c\nd\nb\n"], {0: [b"a", b"b"], 1: [b"c", b"d", b"b"]}),
    "grown": ([b"a\n", b"a\nb\n", b"a\nb\nc\n"], {0: [b"a", b"b", b"c"]}),
    "copytruncate": ([b"a\nb\n", b"", b"c\n", b"c\nd\n"], {0: [b"a", b"b"], 1: [b"c", b"d"]}),
    "begun empty": ([b"", b"a\n"], {0: [b"a"]}),
    "shrunk, then grown": ([b"a\nb\n", b"a\n", b"a\nc\n"], {0: [b"a", b"b"], 1: [b"a", b"c"]}),
    "shrunk, then as it was": ([b"a\nb\n", b"a\n", b"a\nb\nc\n"], {0: [b"a", b"b", b"c"]}),
    "half a line": ([b"a\nb", b"a\nbc\n"], {0: [b"a", b"b"], 1: [b"a", b"bc"]}),
    "no last newline": ([b"a\nb", b"a\nb\nc\n"], {0: [b"a", b"b", b"c"]}),
    "alternates": ([b"a\n", b"b\n", b"a\n", b"b\n"], {0: [b"a"], 1: [b"b"]}),
    "alternates and grows": (
        [b"a\n", b"b\n", b"a\nc\n", b"b\nd\n", b"a\nc\ne\n"],
        {0: [b"a", b"c", b"e"], 1: [b"b", b"d"]},
    ),
}


def test_a_file_that_is_rewritten_has_places_of_its_own(lake):
    """Each case is a topic; with and without compression, all files at the same moment."""
    cases = REWRITTEN | {f"{name}.gz": case for name, case in REWRITTEN.items()}
    for step in range(max(len(contents) for contents, _ in cases.values())):
        for topic, (contents, _) in cases.items():
            if step < len(contents):
                content = contents[step]
                # The same size and the same modification time tell nothing, nor does gzip's clock.
                if topic.endswith(".gz"):
                    lake.put(f"{topic}/daily.jsonl.gz", gzip.compress(content, mtime=step))
                else:
                    lake.put(f"{topic}/daily.jsonl", content)
        report = lake.ingest()
        assert report.problems == []
    assert lake.ingest().files == 0
    found = {topic: {} for topic in cases}
    for topic, partition, offset, value in sorted(set(lake.rows(*bronze.IDENTITY, "value"))):
        lines = found[topic].setdefault(partition, [])
        assert offset == len(lines), (topic, partition, offset, value)
        lines.append(value)
    assert found == {topic: expected for topic, (_, expected) in cases.items()}
    noted = [note for note in report.notes if "does not begin with what has landed" in note]
    assert noted == []  # the last step only goes on


def test_what_bronze_says_of_changed_files(lake):
    """Parquet with other messages under its offsets; lines of which bronze lacks some."""
    path = lake.put_parquet("daily.parquet", kafka([1, 2]))
    lake.put_parquet("other.parquet", kafka([7]))
    lines = lake.put("shop.items/daily.jsonl.gz", gzip.compress(b"a\nb\n"))
    lake.ingest()
    values = pa.array([b"m2", b"other", b"m4"])
    lake.put_parquet("daily.parquet", kafka([2, 1, 4], value=values))
    lake.put_parquet("other.parquet", kafka([7, 8]))
    spark = open_session(metastore=False)
    spark.sql(f"delete from {bronze.by_path(bronze.MESSAGES)} where value = 'b'")
    lake.put("shop.items/daily.jsonl.gz", gzip.compress(b"a\nb\nc\n"))
    report = lake.ingest()
    [problem] = report.problems
    assert problem.startswith(f"{path} has changed since it was landed, and has other bytes")
    assert "shop.orders/3, 1 from offset 1." in problem
    assert report.files == 2
    assert (
        f"{lines} does not begin with what has landed from it: landed as another file, "
        "partition 1 of shop.items."
    ) in report.notes
    values = {value for topic, value in lake.rows("topic", "value") if topic == "shop.orders"}
    assert values == {b"m1", b"m2", b"m7", b"m8"}
    lake.put_parquet("daily.parquet", kafka([1, 2, 3]))
    assert lake.ingest().problems == []


def test_a_line_file_takes_a_partition_that_parquet_has_not(lake):
    lake.put_parquet("old.parquet", kafka([7]))
    lake.ingest()
    lake.put_parquet("new.parquet", kafka([8], partition=5))
    lake.put("shop.orders/a.json", b"a\n")
    lake.put("other/b.txt", b"b\n")
    lake.ingest()
    lake.ingest(lake.put("other/c.txt", b"c\n"), topic="shop.orders")

    assert lake.rows("topic", "partition", "value") == [
        ("other", 0, b"b"),
        ("shop.orders", 3, b"m7"),
        ("shop.orders", 5, b"m8"),
        ("shop.orders", 6, b"a"),
        ("shop.orders", 7, b"c"),
    ]


def test_every_flavour_of_parquet_lands(lake):
    micros = MODIFIED_NS // 1000
    before_1970 = -1_500  # nanoseconds: the microsecond below it is -2

    def stamp(unit, value, zone=None):
        return pa.array([value], pa.timestamp(unit, zone))

    flavours = [
        ("ms", {"timestamp": stamp("ms", micros // 1000)}, {}),
        ("us", {"timestamp": stamp("us", micros)}, {}),
        ("us zone", {"timestamp": stamp("us", micros, "Asia/Shanghai")}, {}),
        ("ns", {"timestamp": stamp("ns", MODIFIED_NS)}, {}),
        ("ns zone", {"timestamp": stamp("ns", before_1970, "UTC")}, {}),
        (
            "int96",
            {"timestamp": stamp("ns", MODIFIED_NS)},
            {"use_deprecated_int96_timestamps": True},
        ),
        ("null", {"timestamp": pa.nulls(1), "key": pa.nulls(1), "headers": pa.nulls(1)}, {}),
        ("none", {}, {}),
    ]
    codecs = ["snappy", "zstd", "gzip"]
    for offset, (name, columns, options) in enumerate(flavours):
        for partition, codec in enumerate(codecs):
            table = kafka([offset], partition=partition, extra=pa.array([1]), **columns)
            path = f"topic=x/[{name}]*:%20{codec}.parquet"
            lake.put_parquet(path, table, compression=codec, **options)

    assert lake.ingest().problems == []

    millisecond, old = (
        datetime(2023, 11, 14, 22, 13, 20, 123000),
        datetime(1969, 12, 31, 23, 59, 59),
    )
    expected = [millisecond, MODIFIED, MODIFIED, MODIFIED, old.replace(microsecond=999998)]
    expected += [MODIFIED, None, None]
    rows = lake.rows("offset", "value", "timestamp", "partition")
    assert rows == [(n, b"m%d" % n, expected[n], m) for n in range(8) for m in range(3)]
    assert lake.commits() == 2


@pytest.mark.parametrize(
    ("offsets", "come_once"),
    [
        (([0, 1, 2], [3, 4]), True),
        (([0, 1, 1],), False),
        (([0, 2, 1],), False),
        (([0, 1, 2], [2, 3]), False),
        (([5, 6], [0, 1]), True),
    ],
    ids=["in order", "twice", "out of order", "in two files", "later file first"],
)
def test_a_commit_says_whether_each_message_comes_once(lake, offsets, come_once):
    for number, listed in enumerate(offsets):
        lake.put_parquet(f"{number}.parquet", kafka(listed))
        lake.put_parquet(f"{number}b.parquet", kafka(listed, partition=4))
    lake.put("x/lines.jsonl", b"a\na\n")
    lake.ingest()
    folder = warehouse_path("bronze", "messages")
    appended = appended_since(folder, 0, 1, bronze.EACH_ONCE)
    if not come_once:
        assert appended is None
        return
    (extents,) = (extents_of(files, bronze.IDENTITY) for files in appended)
    ends = [("shop.orders", 3, min(map(min, offsets))), ("shop.orders", 4, max(map(max, offsets)))]
    assert all(any(e.overlaps(Extent(end, end)) for e in extents) for end in ends)
    assert not any(e.overlaps(Extent(("y", 0, 0), ("y", 0, 9))) for e in extents)


def test_rows_of_several_partitions_may_alternate(lake):
    topics = ["a", "b", "a", "b"]
    columns = {"topic": pa.array(topics), "partition": pa.array([0] * 4, pa.int32())}
    values = {"value": pa.array([b"m"] * 4), "offset": pa.array([0, 0, 1, 7], pa.int64())}
    lake.put_parquet("alternate.parquet", columns | values)
    lake.put_parquet("again/back.parquet", columns | values | {"offset": pa.array([9, 9, 9, 10])})
    described = [files.describe(str(path)) for path in sorted(lake.landing.rglob("*.parquet"))]
    (lake.landing / "staged").mkdir()
    back, alternate = (files.stage(file, lake.landing / "staged") for file in described)
    assert (alternate.rises, files.come_once([alternate])) == (True, True)
    assert alternate.offsets == {("a", 0): (0, 1), ("b", 0): (0, 7)}
    assert (back.rises, files.come_once([back, alternate])) == (False, False)


def test_types_of_parquet_columns_may_differ(lake):
    headers = pa.array([[{"key": "h", "value": b"\xff"}, {"key": "h", "value": None}], None])
    texts = {
        "topic": pa.array(["shop.orders", "unknown"]).dictionary_encode(),
        "partition": pa.array([1, 2], pa.int64()),
        "offset": pa.array([1, 2], pa.int32()),
        "value": pa.array(["é", None]),
        "key": pa.array(["k", None]),
        "timestampType": pa.array([1, 0], pa.int64()),
        "headers": headers,
    }
    lake.put_parquet("texts.parquet", texts)

    report = lake.ingest()

    assert lake.rows(
        "topic", "partition", "offset", "key", "value", "timestamp_type", "format"
    ) == [
        ("shop.orders", 1, 1, b"k", "é".encode(), 1, "dts_canal"),
        ("unknown", 2, 2, None, None, 0, "unrouted"),
    ]
    landed = bronze.read(open_session(metastore=False), "messages").orderBy("offset")
    assert [row.headers for row in landed.collect()] == [[("h", b"\xff"), ("h", None)], None]
    said = ingest_text(report)
    assert "Unrouted: unknown. Add a line each to seeds/topics.csv, then run" in said
    assert "The topic of a line file is its folder's name." in said
    assert report.bytes == 2


def corrupt(path, start=0.3, length=2000):
    content = bytearray(path.read_bytes())
    begin = int(len(content) * start)
    content[begin : begin + length] = bytes(byte ^ 0x5A for byte in content[begin : begin + length])
    path.write_bytes(content)


def test_what_cannot_land_is_named_and_the_rest_lands(lake, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_MAX_FILE_BYTES", "1000000")
    lake.put("shop.orders/good.json", b"good\n")
    (lake.landing / "linked").symlink_to(lake.put("../share/x/y.json", b"linked\n").parent)
    lake.put_parquet("good.parquet", kafka([1]))
    noise = random.Random(1).randbytes(100_000)
    pages = kafka(range(1000), value=pa.array([noise[n : n + 90] for n in range(0, 90_000, 90)]))
    bad = {
        lake.put_parquet("pages.parquet", pages, compression="zstd"): "not a sound Parquet file",
        lake.put("half.parquet", b"PAR1 half written"): "not a sound Parquet file",
        lake.put("empty.parquet", b""): "not a sound Parquet file",
        lake.put("t/cut.json.gz", gzip.compress(noise)[:5000]): "truncated gzip",
        lake.put("t/none.json.gz", b""): "truncated gzip",
        lake.put("t/text.json.gz", b"{}\n"): "not a sound gzip file",
        lake.put("a/bomb.json.gz", gzip.compress(b"x" * 99 + b"\n" * 1_000_000)): "1,000,000 bytes",
        lake.put("t/table.csv", b"a,b\n"): "unknown extension",
        lake.put_parquet(
            "shape.parquet", {"topic": ["t"], "offset": [1]}
        ): "lacks partition, value",
        lake.put_parquet("nulls.parquet", kafka([None])): "row without offset",
        lake.put_parquet("types.parquet", kafka([1], key=pa.array([1.5]))): "column key as double",
        lake.put_parquet(
            "time.parquet", kafka([1], timestamp=pa.array([1]))
        ): "column timestamp as",
    }
    corrupt(lake.landing / "pages.parquet")
    gone = lake.landing / "t" / "gone.json"
    gone.symlink_to(lake.landing / "nowhere.json")
    bad[gone] = "No such file"
    for ignored in ("_SUCCESS", ".hidden.json", "_tmp/a.json", ".b/a.json", "x.parquet.crc"):
        lake.put(ignored, b"x\n")

    report = lake.ingest()

    rows = lake.rows("partition", "offset", "value", "topic")
    assert [row[:3] for row in rows] == [(0, 0, b"linked"), (3, 1, b"m1"), (4, 0, b"good")]
    assert rows[0][3] == "linked"
    assert list((lake.landing.parent / "lake [1]'s house" / "tmp").glob("ingest-*")) == []
    assert {p.split(" ")[0] for p in report.problems} == {str(path) for path in bad}
    for path, expected in bad.items():
        [problem] = [p for p in report.problems if p.startswith(f"{path} ")]
        assert expected in problem
        assert "\n" not in problem
    assert lake.rows("path", table="landed_files") == sorted(
        (str(lake.landing / name),)
        for name in ("good.parquet", "linked/y.json", "shop.orders/good.json")
    )
    repaired = lake.put_parquet("pages.parquet", kafka([2]))
    assert str(repaired) not in "\n".join(lake.ingest().problems)
    assert lake.rows("value") == [(b"good",), (b"linked",), (b"m1",), (b"m2",)]


def intend(lake, *paths):
    """Do the first half of an ingest of line files: write down what is to be landed, then stop."""
    spark = open_session(metastore=False)
    bronze.create_tables(spark)
    given = {"topic": "shop.orders", "messages": 1, "batch": 0, "landed_at": datetime.now(UTC)}
    rows = [
        {**vars(files.describe(str(path))), "digest": files.digest_of(str(path)), **given}
        for path in paths
    ]
    deliveries.record_files(spark, [{**row, "partition": n} for n, row in enumerate(rows)])


def test_an_interrupted_run_is_completed_before_anything_else(lake):
    kept = lake.put("shop.orders/kept.json", b"kept\n")
    changed = lake.put("shop.orders/changed.json", b"before\n")
    gone = lake.put("shop.orders/gone.json", b"gone\n")
    intend(lake, kept, changed, gone)
    gone.unlink()
    lake.put("shop.orders/changed.json", b"behind\n")
    lake.put("shop.orders/z.json", b"z\n")

    report = lake.ingest()

    assert report.messages == {"shop.orders": 3}
    assert lake.rows("partition", "value") == [(0, b"kept"), (1, b"behind"), (2, b"z")]
    assert lake.rows("path", "batch", table="landed_files") == [
        (str(changed), 1),
        (str(kept), 0),
        (str(lake.landing / "shop.orders/z.json"), 1),
    ]
    assert lake.ingest().files == 0


def test_an_interrupted_run_whose_files_are_gone_leaves_nothing(lake):
    intend(lake, gone := lake.put("shop.orders/gone.json", b"gone\n"))
    gone.unlink()

    assert lake.ingest().files == 0
    assert lake.rows("path", table="landed_files") == []
    assert lake.commits() == 1


def test_all_batches_that_a_restored_bronze_has_not_got_are_completed(lake):
    """As from a backup of the table that is older than the list of files: the newest is not all."""
    messages = warehouse_path("bronze", "messages")
    for name in ("a", "b", "c"):
        lake.put(f"shop.orders/{name}.json", name.encode() + b"\n")
        lake.ingest()
        if name == "a":
            shutil.copytree(messages, lake.landing.parent / "backup")
    shutil.rmtree(messages)
    shutil.copytree(lake.landing.parent / "backup", messages)
    open_session(metastore=False)._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    report = lake.ingest()

    assert report.messages == {"shop.orders": 2}
    assert lake.rows("value") == [(b"a",), (b"b",), (b"c",)]
    assert lake.ingest().files == 0


def test_a_second_ingest_is_refused(lake):
    with hold("ingest", "Wait."), pytest.raises(LakehouseError, match="One ingest of files"):
        lake.ingest()


def test_a_long_line_is_refused_whole(lake, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 10)
    lake.put("t/long.json", b"short\n01234567890\n")

    [problem] = lake.ingest().problems

    assert "in line 2," in problem
    assert lake.rows("value") == []


def test_a_message_of_100_megabytes_lands_between_small_ones(lake):
    large = random.Random(1).randbytes(1_000_000).replace(b"\n", b" ") * 100
    lake.put("shop.orders/a.json", b"before\n" + large + b"\nafter\n")

    assert lake.ingest().problems == []

    landed = bronze.read(open_session(metastore=False), "messages").orderBy("offset")
    digests = [row[0] for row in landed.selectExpr("sha2(value, 256)").collect()]
    assert digests == [hashlib.sha256(value).hexdigest() for value in (b"before", large, b"after")]


def test_a_large_file_is_taken_in_pieces(lake, monkeypatch):
    monkeypatch.setattr(files, "BATCH_ROWS", 7)
    lake.put("shop.orders/a.json", b"".join(b"%d\n" % n for n in range(100)))

    lake.ingest()

    assert lake.rows("offset", "value") == [(n, b"%d" % n) for n in range(100)]


def test_the_command_says_what_it_did(lake, monkeypatch, capsys):
    monkeypatch.chdir(lake.project / "seeds")
    lake.put("shop.orders/a.json", b"a\n")

    assert cli.main(["ingest", "files", "../../landing"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "topic        format     messages"
    assert out[2] == "shop.orders  dts_canal         1"
    assert out[3].startswith("1 topics, 1 messages, 1 bytes, 1 files, ")
    lake.put("what.doc", b"")
    lake.put("shop.orders/b.json", b"b\nc\n")
    monkeypatch.chdir(lake.project)
    assert cli.main(["ingest", "files", "../landing", "--json"]) == 1
    out, err = capsys.readouterr()
    assert "Not landed (1):" in err
    told = json.loads(out)
    assert told["landed"] == [{"topic": "shop.orders", "format": "dts_canal", "messages": 2}]
    assert (told["found"], told["files"], told["bytes"], told["rerouted"]) == (2, 1, 2, [])
    assert "what.doc has an unknown extension" in told["problems"][0]


def test_a_person_at_a_terminal_sees_how_far_it_is(lake, monkeypatch):
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.02)
    text = b"".join(b"%0999d\n" % number for number in range(40_000))
    lake.put("shop.orders/a.json", text)
    packed = lake.put("shop.orders/b.json.gz", gzip.compress(os.urandom(10_000_000), 0))
    with terminal_as_stderr(monkeypatch) as terminal:
        assert lake.ingest().problems == []
    size = (len(text) + packed.stat().st_size) / 1e6
    shown = re.findall(rf"reads files: ([0-9.]+) of {size:.1f} MB, [0-9.]+ MB/s", terminal.text)
    assert len(set(shown)) > 3
    assert re.search(r"appends: [0-9,]+ of [0-9]{2},[0-9]{3} messages", terminal.text)
    assert terminal.text.endswith("lakehouse: 2 files landed\r\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere"], "nowhere does not exist. Name a folder"),
        ([".", "--project-dir", "seeds"], "No dbt_project.yml in"),
        ([".", "--topic", ""], "The topic is empty."),
    ],
)
def test_a_wrong_argument_is_one_line(lake, monkeypatch, capsys, arguments, expected):
    monkeypatch.chdir(lake.project)

    assert cli.main(["ingest", "files", *arguments]) == 2
    assert expected in capsys.readouterr().err


def test_unrouted_messages_get_their_format_once_their_topic_has_a_route(lake, monkeypatch, capsys):
    monkeypatch.chdir(lake.project)
    lake.put("it's new/a.json", b"\xff\n\n")
    lake.put("other/b.json", b"b\n")
    lake.put("shop.orders/c.json", b"c\n")
    lake.ingest()
    columns = [name for name, _, _ in bronze.MESSAGE_COLUMNS if name != "format"]
    before = lake.rows(*columns)
    assert cli.main(["reroute"]) == 0
    assert "Nothing to reroute" in capsys.readouterr().out
    assert lake.commits() == 2
    lake.add_route("it's*,drs_json,,,,")

    assert cli.main(["reroute"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "topic     format    messages",
        "--------  --------  --------",
        "it's new  drs_json         2",
        "2 messages rerouted. Run `dbt build` next: it processes them.",
    ]
    assert cli.main(["reroute"]) == 0

    assert lake.commits() == 3
    assert lake.rows(*columns) == before
    assert lake.rows("topic", "format") == [
        *[("it's new", "drs_json")] * 2,
        ("other", "unrouted"),
        ("shop.orders", "dts_canal"),
    ]
    lake.add_route("other,oms_default,,,,")
    lake.put("other/d.json", b"d\n")
    assert lake.ingest().rerouted == {("other", "oms_default"): 1}
    assert lake.commits() == 5
    assert {name for _, name in lake.rows("topic", "format")} == {
        *("drs_json", "oms_default", "dts_canal")
    }
    assert lake.ingest().files == 0
    assert lake.commits() == 5


@pytest.mark.long
def test_a_killed_ingest_neither_loses_nor_doubles(lake, tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    rounds = int(os.environ.get("KILLS") or 2)
    chance = random.Random(os.environ["SEED"])
    command = [
        sys.executable,
        "-m",
        "cdc_lakehouse.console.cli",
        "ingest",
        "files",
        str(lake.landing),
    ]
    expected = []
    for turn in range(rounds):
        lake.put(f"shop.orders/{turn}.json", b"%d\n" % turn * 1000)
        lake.put_parquet(f"{turn}.parquet", kafka([turn], topic="shop.items"))
        expected += [(b"m%d" % turn, 1), (b"%d" % turn, 1000)]
        process = subprocess.Popen(
            [*command, "--project-dir", lake.project], stderr=subprocess.PIPE, text=True
        )
        # From here it takes some seconds to write the intent and to commit the messages.
        while not (line := process.stderr.readline()).endswith("of them new\n"):
            assert line, "ended before it began to land"
        time.sleep(chance.uniform(0, 5))
        process.send_signal(signal.SIGKILL)
        process.communicate()

    lake.ingest()

    landed = bronze.read(open_session(metastore=False), "messages")
    assert sorted(map(tuple, landed.groupBy("value").count().collect())) == sorted(expected)
    assert landed.select("topic", "partition", "offset").distinct().count() == landed.count()
