"""An archive beside a live feed: what lands, under which names, and what is refused."""

import json
import os
from datetime import datetime

import pyarrow as pa
import pytest
from test_ingest_files import kafka, make_lake

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.console import cli
from cdc_lakehouse.delta.log import appended_since
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.names import Names
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import open_session

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]

TOPICS = """topic,format,time_zone,avro_schema,delete_image,database
shop.orders,dts_canal,,,,
shop.orders@archive,dts_canal,,,,
shop.items,oms_canal,,,,
"""
OLD = "prod.shop.orders.v1"


@pytest.fixture
def lake(tmp_path, monkeypatch):
    made = make_lake(tmp_path, monkeypatch, TOPICS)
    monkeypatch.chdir(made.project)
    return made


@pytest.fixture
def backfill(lake, capsys):
    """Return what runs the command and returns its exit code and its document."""

    def run(*arguments):
        capsys.readouterr()
        code = cli.main(["backfill", *map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def landed(lake):
    return lake.rows("topic", "partition", "offset", "value")


def rows(offsets, topic="shop.orders", partition=3):
    return [(topic, partition, offset, f"m{offset}".encode()) for offset in offsets]


@pytest.mark.parametrize(
    ("given", "topic", "name"),
    [
        ([], "a", "a"),
        (["a=b"], "a", "b"),
        (["a=b"], "aa", "aa"),
        (["prod.*.v1=*"], "prod.shop.orders.v1", "shop.orders"),
        (["prod.*.v1=*"], "prod.shop.orders.v2", "prod.shop.orders.v2"),
        (["*.*=*@*"], "a.b.c", "a.b@c"),
        (["prod.*=*", "prod.shop.*=s.*", "prod.shop.x=y"], "prod.shop.x", "y"),
        (["prod.*=*", "prod.shop.*=s.*", "prod.shop.x=y"], "prod.shop.z", "s.z"),
        (["prod.*=all"], "prod.shop.z", "all"),
        (["x*=*"], "x*y*", "*y*"),
        (["a.c=b"], "abc", "abc"),
        (["x=a=b"], "x", "a=b"),
    ],
)
def test_a_topic_gets_the_name_that_fits_best(given, topic, name):
    names = Names.parse(given)
    assert names.of(topic) == name
    assert Names.kept(names.text) == names


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["orders"], "names no two topics. Write OLD=NEW"),
        (["=orders"], "names no two topics"),
        (["orders="], "names no two topics"),
        (["prod.*=*.*"], "has 1 .* in the old name and 2 in the new one"),
        (["*.*=*"], "has 2 .* in the old name and 1 in the new one"),
        (["a=b", "a=c"], "gives 'a' two names: 'b', 'c'"),
    ],
)
def test_wrong_names_are_refused(given, said):
    with pytest.raises(LakehouseError, match=said):
        Names.parse(given)


def test_an_archive_lands_under_the_name_of_the_live_topic(lake, backfill):
    lake.put_parquet("live.parquet", kafka(range(5, 9)))
    lake.ingest()
    archive = lake.put_parquet("../archive/a.parquet", kafka(range(0, 4), topic=OLD))
    more = lake.put_parquet("../more/b.parquet", kafka(range(3, 7), topic=OLD))
    given = (archive.parent, more.parent, "--topic", "prod.*.v1=*")

    code, said = backfill(*given, "--dry-run")
    assert (code, said["is_dry_run"], said["refusals"]) == (0, True, [])
    assert said["places"] == [
        {
            **{"topic": "shop.orders", "partition": 3, "format": "dts_canal", "messages": 8},
            **{"first_offset": 0, "last_offset": 6, "holes": 0, "in_bronze": 2},
            **{"conflicting": 0, "first_conflict": None, "erased": 0, "before": None, "after": 7},
        }
    ]
    assert landed(lake) == rows(range(5, 9)) and len(lake.rows("path", table="landed_files")) == 1

    code, done = backfill(*given)
    assert (code, done["files"], done["places"]) == (0, 2, said["places"])
    assert landed(lake) == sorted(rows([*range(5, 9), *range(0, 4), *range(3, 7)]))
    assert {format_ for (format_,) in lake.rows("format")} == {"dts_canal"}

    # Neither a backfill nor an ingest of the folder lands it again; under another name it would.
    assert backfill(*given)[1]["found"] == 2
    assert lake.ingest(archive.parent).files == 0
    assert len(landed(lake)) == 12
    code, other = backfill(archive.parent, "--topic", f"{OLD}=shop.orders@archive")
    assert other["landed"] == [
        {"topic": "shop.orders@archive", "format": "dts_canal", "messages": 4}
    ]


@pytest.mark.long
def test_what_has_landed_under_its_old_name_lands_under_the_new_one(lake, backfill):
    lake.put_parquet("a.parquet", kafka(range(3), topic=OLD))
    lake.ingest()
    code, said = backfill(lake.landing, "--topic", f"{OLD}=shop.orders")
    assert (code, said["files"]) == (0, 1)
    assert landed(lake) == rows(range(3), topic=OLD) + rows(range(3))


@pytest.mark.long
def test_a_commit_says_that_each_message_comes_once_by_the_new_names(lake, backfill):
    def each_once(number):
        folder = warehouse_path("bronze", "messages")
        return appended_since(folder, number - 1, number, bronze.EACH_ONCE) is not None

    archive = lake.landing / "archive"
    lake.put_parquet("archive/a.parquet", kafka([1, 2], topic="a"))
    lake.put_parquet("archive/b.parquet", kafka([3, 4], topic="b"))
    backfill(archive, "--topic", "*=shop.orders")
    assert each_once(1)
    lake.put_parquet("archive/c.parquet", kafka([5, 6], topic="c"))
    lake.put_parquet("archive/d.parquet", kafka([6, 7], topic="d"))
    backfill(archive, "--topic", "*=shop.orders")
    assert not each_once(2)


def test_other_bytes_under_a_known_identity_are_refused_until_accepted(lake, backfill):
    lake.put_parquet("live.parquet", kafka(range(5)))
    lake.ingest()
    other = pa.array([b"m2", b"other", None], pa.binary())
    archive = lake.put_parquet("../a.parquet", kafka([2, 3, 4], value=other))

    code, said = backfill(archive)
    assert code == 2
    assert said["error"].startswith(
        "Nothing was landed. 2 messages have a topic, partition and offset that is known with "
        "other bytes: shop.orders/3, 2 from offset 3."
    )
    code, said = backfill(archive, "--dry-run")
    assert code == 1 and "--accept-conflicts" in said["refusals"][0]
    assert landed(lake) == rows(range(5)) and len(lake.rows("path", table="landed_files")) == 1
    code, said = backfill(archive, "--accept-conflicts")
    assert (code, said["places"][0]["conflicting"], len(lake.rows("offset"))) == (0, 2, 8)


def test_another_key_is_another_message(lake, backfill):
    lake.put_parquet("live.parquet", kafka([0], key=pa.array([b"k"], pa.binary())))
    lake.ingest()
    code, said = backfill(lake.put_parquet("../a.parquet", kafka([0])), "--dry-run")
    assert (code, said["places"][0]["conflicting"]) == (1, 1)


def test_two_topics_of_an_archive_that_clash_under_one_name_are_refused(lake, backfill):
    lake.put_parquet("a.parquet", kafka([1, 2], topic="a"))
    lake.put_parquet("b.parquet", kafka([2], topic="b", value=pa.array([b"b"], pa.binary())))
    code, said = backfill(lake.landing, "--topic", "*=shop.orders")
    assert code == 2 and "shop.orders/3, 1 from offset 2" in said["error"]
    assert landed(lake) == []


def test_what_neither_has_is_told(lake, backfill):
    lake.put_parquet("live.parquet", kafka([20, 21]))
    lake.ingest()
    code, said = backfill(lake.put_parquet("../a.parquet", kafka([3, 4, 7])))
    assert code == 0
    assert said["notes"] == [
        "shop.orders/3: neither the archive nor bronze has the offsets 8 to 19.",
        "shop.orders/3: neither the archive nor bronze has 2 of the offsets 3 to 7.",
    ]


@pytest.mark.long
def test_lines_do_not_land_beside_offsets(lake, backfill):
    lake.put_parquet("live.parquet", kafka([0, 1]))
    lake.ingest()
    archive = lake.put("../archive/shop.orders/a.jsonl", b"m0\nm1\n").parent
    code, said = backfill(archive)
    assert code == 2 and "--topic shop.orders=shop.orders@archive" in said["error"]
    code, said = backfill(archive, "--topic", "shop.orders=shop.orders@archive")
    assert code == 0
    assert landed(lake) == rows([0, 1]) + rows([0, 1], "shop.orders@archive", 0)
    assert backfill(archive, "--topic", "shop.orders=shop.orders@archive")[1]["files"] == 0
    # Beside other lines they get the next number, as in an ingest.
    lines = lake.put("../archive/shop.items/a.jsonl", b"i0\n").parent
    assert lake.ingest(lines).files == 1
    lake.put("../archive/shop.items/b.jsonl", b"i1\n")
    assert backfill(lines)[0] == 0
    assert landed(lake)[:2] == [("shop.items", 0, 0, b"i0"), ("shop.items", 1, 0, b"i1")]


@pytest.mark.long
def test_erased_messages_are_refused_until_accepted(lake, backfill):
    lake.put_parquet("live.parquet", kafka([8]))
    lake.ingest()
    removed = {"topic": "shop.orders", "partition": 3, "removed_at": datetime(2026, 1, 1)}
    runs = [(2, 3, "erasure"), (4, 4, "retention")]
    bronze.append_rows(
        open_session(metastore=False),
        bronze.REMOVED_MESSAGES,
        [
            removed
            | {"first_offset": a, "last_offset": b, "messages": b - a + 1}
            | {"reason": reason, "bronze_version": 1}
            for a, b, reason in runs
        ],
    ).save()
    archive = lake.put_parquet("../a.parquet", kafka([3, 4, 5]))
    code, said = backfill(archive)
    assert code == 2 and "1 messages were removed by `lakehouse erase`: shop.orders/3" in str(said)
    assert backfill(archive, "--accept-erased")[0] == 0
    assert landed(lake) == rows([3, 4, 5, 8])


@pytest.mark.long
def test_a_killed_backfill_is_completed_under_its_names(lake, backfill, monkeypatch):
    archive = lake.put_parquet("../a.parquet", kafka([1, 2], topic=OLD))
    with monkeypatch.context() as patch:
        patch.setattr(deliveries, "append_messages", _killed)
        with pytest.raises(SystemExit):
            backfill(archive, "--topic", "prod.*.v1=*")
    assert landed(lake) == [] and len(lake.rows("path", table="landed_files")) == 1
    assert backfill(archive, "--topic", "prod.*.v1=*", "--dry-run")[1]["files"] == 1
    assert landed(lake) == []
    lake.put_parquet("new.parquet", kafka([7]))
    assert lake.ingest().messages == {"shop.orders": 3}
    assert landed(lake) == rows([1, 2, 7])
    # The messages bear the time that the ledger has, by which a Kafka stream leaves them alone.
    assert set(lake.rows("ingested_at")) == set(lake.rows("landed_at", table="landed_files"))


def _killed(*_):
    raise SystemExit


@pytest.mark.long
def test_a_stream_is_not_led_astray_by_an_archive(lake, backfill):
    spark = open_session(metastore=False)
    archive = lake.put_parquet("../a.parquet", kafka([3, 900]))
    assert backfill(archive)[0] == 0
    assert deliveries.next_offsets(spark, ["shop.orders"]) == {}
    messages = bronze.read(spark, "messages").where("offset = 3")
    later = messages.selectExpr("* except (offset, ingested_at)", "50L as offset")
    bronze.append(later.selectExpr("*", "timestamp'2026-11-20' as ingested_at"), "messages").save()
    assert deliveries.next_offsets(spark, ["shop.orders"]) == {("shop.orders", 3): 51}


def test_what_cannot_land_is_named(lake, backfill):
    assert backfill(lake.landing / "none")[1]["error"].endswith("Name a folder or a file to land.")
    assert "OLD=NEW" in backfill(lake.landing, "--topic", "orders")[1]["error"]
    lake.put("a.parquet", b"no parquet")
    code, said = backfill(lake.landing)
    assert code == 1 and "not a sound Parquet file" in said["problems"][0]
    assert os.listdir(lake.landing) == ["a.parquet"]
