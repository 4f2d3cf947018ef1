"""Lakehouses as earlier releases left them go on: gold, histories, and what a user has made of it.

tests/operate/upgrades holds one of each release: the sample topics up to some of their messages, in
the sample project with a history, a mart and a snapshot, and what these tables showed; of the last
release a project of `lakehouse init`, too.
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from conftest import LANDING
from dbt.cli.main import dbtRunner
from shop import TABLES, as_expected, expected_rows

from cdc_lakehouse.delta.statements import settings
from cdc_lakehouse.engine.validated_rows import RULES
from cdc_lakehouse.package import BUILT_BY, RELEASE

pytestmark = pytest.mark.full

LEFT = Path(__file__).with_name("upgrades")
MART = """{{ config(materialized='incremental', schema='marts') }}
select id, status, total, _sequence from {{ ref('orders') }}
{% if is_incremental() %} where _sequence > (select max(_sequence) from {{ this }}) {% endif %}
"""
SNAPSHOT = """snapshots:
  - name: orders_snapshot
    relation: ref('orders')
    config: {schema: kept, file_format: delta, unique_key: id, strategy: check,
             check_cols: [status, total]}
"""
# How many lines the lakehouses have landed of these files.
LANDED = {"shop.orders/orders.jsonl": 29, "crm.customers/customers.jsonl": 19}
# A commit between the releases, whose gold had another layout than either; the last release.
PROBLEMS = "gold_storage.payments_problems"
RELEASES = ["59f8520", pytest.param("10f58c9", marks=pytest.mark.long)]
# What says which copy of a change was read; a release that builds silver again may take another.
DELIVERY = {"_offset", "_bronze_version", "_known_at"}
BUILD = ("build", "--exclude-resource-type", "unit_test", "test")


def write_project(project):
    for name, text in {
        "models/marts/orders_seen.sql": MART,
        "snapshots/orders.yml": SNAPSHOT,
    }.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)


@pytest.fixture(scope="module")
def opened(open_lakehouse):
    return open_lakehouse("upgraded", write_project)


@pytest.fixture(params=RELEASES)
def left(request, opened):
    """The lakehouse that a release has left, opened by this one; `before` is what it showed."""
    former, folder = opened.home, opened.home.with_name(request.param)
    opened.process.leave()
    extract(request.param, folder)
    opened.home = folder / "lake"
    shutil.copytree(former / "target", opened.home / "target")
    opened.process.enter(opened.home, opened.project)
    opened.release = request.param
    opened.before = json.loads((folder / "before.json").read_text())
    return opened


def extract(release, folder):
    with tarfile.open(LEFT / f"{release}.tar.xz") as archive:
        archive.extractall(folder, filter="data")


def shown(lakehouse, table):
    """Return the rows of a table as texts, in an order of their own."""
    rows = lakehouse.query(f"select * from {table}")
    for row in rows:
        if "_problems" in row:
            row["_problems"] = [problem.asDict() for problem in row["_problems"]]
    return in_order(json.loads(json.dumps(rows, default=str)))


def in_order(rows):
    kept = [{name: v for name, v in row.items() if name not in DELIVERY} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


def built_by(lakehouse, table):
    rows = lakehouse.query(f"show tblproperties {table}")
    return {row["key"]: row["value"] for row in rows}.get(BUILT_BY)


def write_the_rest(folder):
    """Write the messages of the sample topics that the lakehouses have not landed."""
    for name, lines in LANDED.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        rest = (LANDING / name).read_text().splitlines(keepends=True)[lines:]
        path.with_stem("rest").write_text("".join(rest))
    (folder / "shop.payments").mkdir()
    shutil.copy(LANDING / "shop.payments" / "payments-1.parquet", folder / "shop.payments")


def test_a_lakehouse_of_an_earlier_release_goes_on(left, tmp_path):
    if left.release == "10f58c9":
        # As a run leaves it that was killed before it had made the views of a table again.
        left.query(f"alter view {PROBLEMS} set {settings({RULES: 'unfinished'})}")
    said = left.dbt(*BUILD)
    for table, rows in left.before.items():
        assert shown(left, table) == in_order(rows), table
    for table in TABLES:
        # One of today's layout stays as it is; before 0.2.0 no release has told that it built it.
        is_rebuilt = built_by(left, f"gold_storage.{table}") == RELEASE
        assert said[table] == ("OK" if is_rebuilt else "NOTHING NEW")
        assert is_rebuilt or left.release == "10f58c9"
    (state,) = left.query(f"show tblproperties {PROBLEMS} ('{RULES}')")
    assert state["value"] != "unfinished"

    write_the_rest(tmp_path)
    left.ingest(tmp_path)
    left.dbt(*BUILD)
    for table in TABLES:
        assert as_expected(left, table) == expected_rows(table), table
    left.check_duplicates()
    # The user's mart has each change that gold has shown, the snapshot what it was before, too.
    current = "select id, status, total, _sequence from gold.orders"
    assert left.query(f"{current} except select * from marts.orders_seen") == []
    seen = [row["id"] for row in left.query("select id from marts.orders_seen order by id")]
    assert len(seen) > len(left.before["marts.orders_seen"])
    kept = "select id, status, total from kept.orders_snapshot where dbt_valid_to is {} null"
    last, rows = (left.query(kept.format(word)) for word in ("", "not"))
    now = left.query("select id, status, total from gold.orders")
    assert {*map(str, now)} <= {*map(str, last)} and rows
    before = {(r["id"], r["status"]) for r in left.before["kept.orders_snapshot"]}
    assert before <= {(r["id"], r["status"]) for r in [*last, *rows]}


def test_a_project_of_an_earlier_release_is_parsed_as_it_is(tmp_path, monkeypatch):
    """As `lakehouse init` of 0.1.0 has made it, with two tables: nobody writes its files again."""
    extract("10f58c9", tmp_path)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    warned = []
    done = dbtRunner(callbacks=[lambda event: warned.append(event.info)]).invoke(["parse"])
    assert done.success, done.exception
    assert [each.msg for each in warned if each.level == "warn"] == []
    orders = done.result.nodes["model.shop.orders_history"]
    assert orders.depends_on.nodes == ["model.cdc_lakehouse.row_images"]


@pytest.mark.long
@pytest.mark.parametrize("left", RELEASES[:1], indirect=True)
def test_an_older_lakehouse_is_built_again_on_demand(left):
    left.dbt(*BUILD, "--full-refresh", "--exclude", "resource_type:snapshot")
    assert shown(left, "gold.orders") == in_order(left.before["gold.orders"])
    assert shown(left, "gold.orders_history") == in_order(left.before["gold.orders_history"])
