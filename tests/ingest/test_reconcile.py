"""What `lakehouse ingest snapshot` is asked, what is known of the table, and what it says."""

from argparse import Namespace
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import PROJECT, copy_project

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.commands.ingest_snapshot import request_of
from cdc_lakehouse.console.reconciled import comparison_text, extract_text
from cdc_lakehouse.engine.extracts import query_of_rows, update_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.reconcile.compare import (
    DROPPED,
    Comparison,
    _is_emptied,
    query_of_images,
)
from cdc_lakehouse.operate.reconcile.compiled import Compiled
from cdc_lakehouse.operate.reconcile.known import KnownTable, key_of, model_of
from cdc_lakehouse.operate.reconcile.landing import ExtractReport, refuse_future
from cdc_lakehouse.operate.reconcile.source import Source, read_source
from cdc_lakehouse.protection import Line, Protection
from cdc_lakehouse.routes import EXTRACT, read_routes

MOMENT = datetime(2026, 11, 5, 10, tzinfo=UTC)
ORDERS = KnownTable("shop", None, "orders", ("id", "status"), ("id",))


def options(**given):
    defaults = {"files": [], "jdbc": "", "query": "", "option": [], "key": None, "partial": False}
    return Namespace(**defaults | {"table": "shop.orders", "taken_at": MOMENT} | given)


def test_a_request_has_files_or_a_database():
    request = request_of(options(files=["a.csv"], key="id,`a,b`", option=["sep=;", "nullValue="]))
    assert (request.source.paths, request.key) == (["a.csv"], ["id", "a,b"])
    assert request.source.options == {"sep": ";", "nullValue": ""}
    request = request_of(options(jdbc="jdbc:postgresql://db/shop", query="select 1"))
    assert (request.source.url, request.source.query) == ("jdbc:postgresql://db/shop", "select 1")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Name the files of the extract, or a database with --jdbc URL."),
        ({"files": ["a.csv"], "jdbc": "jdbc:x", "query": "q"}, "Name the files of the extract"),
        ({"jdbc": "jdbc:x"}, "--jdbc URL and --query SQL belong together."),
        ({"files": ["a.csv"], "query": "q"}, "--jdbc URL and --query SQL belong together."),
        ({"jdbc": "jdbc:x?password=s3cret", "query": "q"}, "Set LAKEHOUSE_JDBC_PASSWORD"),
        ({"files": ["a.csv"], "option": ["sep"]}, "--option sep is no NAME=VALUE."),
        ({"files": ["a.csv"], "option": ["Password=s3cret"]}, "Set LAKEHOUSE_JDBC_PASSWORD."),
    ],
)
def test_a_request_that_is_wrong_is_refused(given, said):
    with pytest.raises(LakehouseError) as refused:
        request_of(options(**given))
    assert said in str(refused.value) and "s3cret" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "10:00"])
def test_a_moment_that_is_none_is_refused(text, capsys):
    arguments = ["ingest", "snapshot", "--table", "a.b", "--taken-at", text, "a.csv"]
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2 and "is no time such as" in capsys.readouterr().err


def test_a_moment_is_required(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["ingest", "snapshot", "--table", "a.b", "a.csv"])
    assert ended.value.code == 2 and "--taken-at" in capsys.readouterr().err


def test_a_moment_that_has_not_come_is_refused():
    refuse_future(MOMENT.replace(year=2020))
    with pytest.raises(LakehouseError, match="has not come yet"):
        refuse_future(MOMENT.replace(year=2999))


def test_the_key_is_that_of_the_gold_model_by_the_names_of_the_source(tmp_path):
    items = KnownTable("shop", None, "order_items")
    assert key_of(items, [], PROJECT) == ["order_id", "line_no"]
    assert key_of(items, ["sku"], PROJECT) == ["sku"]

    def rename(project):
        path = project / "models" / "gold" / "shop" / "_shop.yml"
        named = "{name: line_no, meta: {source: LineNo}"
        path.write_text(path.read_text().replace("{name: line_no", named, 1))

    project = copy_project(tmp_path / "project", rename)
    assert key_of(items, [], project) == ["order_id", "LineNo"]
    # The history of the table has its versions, not its rows.
    assert model_of(ORDERS, PROJECT).name == "orders"


def test_a_column_that_tells_the_table_is_none_of_the_source(tmp_path):
    def tell_table(project):
        folder = project / "models" / "gold" / "shop"
        told = "source_table as shard,\n    try_cast(image['order_id']"
        path = folder / "order_items.sql"
        path.write_text(path.read_text().replace("try_cast(image['order_id']", told, 1))
        path = folder / "_shop.yml"
        text = path.read_text().replace("[order_id, line_no]", "[shard, order_id, line_no]", 1)
        column = "- {name: order_id, data_type: bigint"
        text = text.replace(column, f"- {{name: shard, data_type: string}}\n      {column}", 1)
        path.write_text(text)

    project = copy_project(tmp_path / "project", tell_table)
    items = KnownTable("shop", None, "order_items")
    assert model_of(items, project).key == ["shard", "order_id", "line_no"]
    assert key_of(items, [], project) == ["order_id", "line_no"]


def test_without_a_gold_model_the_messages_say_the_key():
    assert key_of(KnownTable("lab", None, "things", ("a", "b"), ("a",)), [], PROJECT) == ["a"]
    with pytest.raises(LakehouseError, match="Give it: --key A,B"):
        key_of(KnownTable("lab", None, "things"), [], PROJECT)


def test_topics_of_extracts_need_no_route():
    assert read_routes(PROJECT).format_of("extract:shop.orders") == EXTRACT


def test_a_place_and_a_move_are_named_as_sql():
    assert "where false" in query_of_rows({})
    assert r"('extract:a.b\'s', 3, '7.1')" in query_of_rows({("extract:a.b's", 3): "7.1"})
    moved = update_of("silver.events", {("extract:a.b", 3): "7", ("extract:c", 0): "8"})
    assert moved == (
        "update silver.events set sequence = concat(case when topic = 'extract:a.b' "
        "and partition = 3 then '7' when topic = 'extract:c' and partition = 0 then '8' end, "
        "substring(sequence, instr(sequence, '!'))) where format = 'full_extract' and "
        "((topic = 'extract:a.b' and partition = 3) or (topic = 'extract:c' and partition = 0)) "
        "and sequence is not null"
    )


def test_an_extract_is_compared_as_its_table_is_protected():
    names = ("shop", "", "orders", "note")
    lines = (Line(2, *names, "mask", "gold"), Line(3, *names, "hash", "silver"))
    images = query_of_images(ORDERS, ["id"], Protection(lines, "12ab"))
    # Silver first, then gold, of what silver has made of it.
    assert images.count("protected_images(") == 2
    assert images.index("'gold'") < images.index("'silver'") < images.index("from_json(value")
    assert images.count("array('shop', cast(null as string), 'orders'), array('id')") == 2
    other = KnownTable("shop", None, "items")
    assert "protected_images(" not in query_of_images(other, ["id"], Protection(lines, "12ab"))
    assert "protected_images(" not in query_of_images(ORDERS, ["id"], Protection())


def read(spark, *paths, **options):
    rows = read_source(spark, Source([str(path) for path in paths], options=options))
    assert {kind for _, kind in rows.dtypes} == {"string"}
    return [tuple(row) for row in rows.collect()]


def test_values_of_parquet_become_canonical_text(spark, tmp_path):
    moment = datetime(2026, 11, 5, 12, 0, 0, 500_000)
    values = {
        "flag": (pa.array([True, None]), "1"),
        "small": (pa.array([-7, None], pa.int8()), "-7"),
        "large": (pa.array([2**64 - 1, None], pa.uint64()), "18446744073709551615"),
        "price": (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), "1.50"),
        "tiny": (pa.array([Decimal("0E-10"), None], pa.decimal128(38, 10)), "0.0000000000"),
        "share": (pa.array([0.1, None], pa.float64()), "0.1"),
        "bytes": (pa.array([b"\x00\xff", None], pa.binary()), "00ff"),
        "day": (pa.array([date(2026, 11, 5), None]), "2026-11-05"),
        "wall": (pa.array([moment, None], pa.timestamp("us")), "2026-11-05 12:00:00.5"),
        "at": (pa.array([moment, None], pa.timestamp("us", "UTC")), "2026-11-05 12:00:00.5"),
        "text": (pa.array([" ü\n'", None]), " ü\n'"),
        "list": (pa.array([[1, 2], None]), "[1,2]"),
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({name: array for name, (array, _) in values.items()}), path)
    whole, empty = read(spark, path)
    assert dict(zip(values, whole, strict=True)) == {n: text for n, (_, text) in values.items()}
    assert set(empty) == {None}


def test_values_of_text_files_stay_as_they_are(spark, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": 12345678901234567890123, "price": 1.10, "note": null, "rest": {"a": [1.0, "b"]}}\n'
    )
    assert read(spark, path) == [("12345678901234567890123", None, "1.10", '{"a": [1.0, "b"]}')]
    path = tmp_path / "a.csv"
    path.write_text('id,name,note\n1,,""\n02,"a ""b"",\nc",\\N\n')
    assert read(spark, path) == [("1", None, ""), ("02", 'a "b",\nc', "\\N")]
    assert read(spark, path, nullValue="\\N")[1] == ("02", 'a "b",\nc', None)


def test_what_is_no_extract_is_refused(spark, tmp_path):
    for name in ("a.csv", "a.parquet", "a.xls"):
        (tmp_path / name).write_text("id\n1\n")
    with pytest.raises(LakehouseError, match="its name ends with none of"):
        read(spark, tmp_path / "a.xls")
    with pytest.raises(LakehouseError, match="are of one kind"):
        read(spark, tmp_path / "a.csv", tmp_path / "a.parquet")
    with pytest.raises(LakehouseError, match="does not exist"):
        read(spark, tmp_path / "b.csv")


def test_what_a_person_reads():
    report = ExtractReport("shop.orders", MOMENT, ["id"], ["id"], 1200, "extract:shop.orders", 0)
    report.notes.append("This extract of shop.orders has landed before.")
    assert extract_text(report).splitlines() == ["Nothing to land.", *report.notes]
    report.is_new, report.notes = True, []
    assert extract_text(report) == (
        "shop.orders: 1,200 rows of 2026-11-05 10:00:00 UTC landed, key id, 0.0 s. `dbt build` "
        "merges them next."
    )
    found = Comparison("shop.orders", "orders", MOMENT, "", 1200, equal=1200)
    assert found.agrees and "They agree." in comparison_text(found)
    found.different, found.columns, found.keys = 1, {"status": 1}, {"status": ["id=7"]}
    text = comparison_text(found)
    assert not found.agrees and "status" in text and "id=7" in text and "They differ" in text


@pytest.mark.parametrize(
    ("removing", "truncates", "drops", "is_emptied"),
    [
        (("truncate", "extract"), True, False, True),
        (("extract",), True, True, False),
        (("truncate", "extract"), False, True, False),
        (("truncate", "drop", "extract"), False, True, True),
        (("truncate", "drop", "extract"), False, False, False),
    ],
)
def test_a_dry_run_heeds_what_the_model_says_of_truncates_and_drops(
    spark, removing, truncates, drops, is_emptied
):
    operation = "truncate" if truncates else "update"
    spark.sql(f"select '{operation}' as _operation").createOrReplaceTempView("changes_since")
    spark.sql("create schema if not exists silver")
    # The first DROP came before the extract, the second is of another table.
    rows = "('shop.orders', '1'), ('shop.items', '9')"
    rows += ", ('shop.orders', '9')" if drops else ""
    dropped = f"select * from values {rows} as dropped (source_table, sequence)"
    spark.sql(f"create or replace view {DROPPED} as {dropped}")
    try:
        model = Compiled("orders", "gold.orders", "", "", {}, ["id"], removing)
        table = KnownTable("shop", None, "orders")
        assert _is_emptied(spark, table, model, "5") is is_emptied
    finally:
        spark.sql(f"drop view {DROPPED}")
