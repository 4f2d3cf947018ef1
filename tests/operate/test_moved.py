"""A lakehouse that was moved or copied just opens; silver is not built again over a loss."""

import shutil
from contextlib import contextmanager

import pytest
from laboratory import Laboratory, change, thing, write_models

pytestmark = pytest.mark.full

MODELS = {"things": "plain_table=true", "things_history": "materialized='history'"}
NAMES = """{{ config(materialized='incremental', schema='marts') }}
select id, name, _sequence from {{ ref('things') }}
{% if is_incremental() %} where _sequence > (select max(_sequence) from {{ this }}) {% endif %}
"""
SNAPSHOT = """snapshots:
  - name: things_snapshot
    relation: ref('things')
    config: {schema: kept, file_format: delta, unique_key: id, strategy: check, check_cols: [name]}
"""
ALL = "select * from gold.things"
OLD_AND_NEW = "select name from gold.things_as_of(timestamp '2036-01-01') order by id"
# Every table that the project or a user has made, with the file that each row is read from.
FILES = [
    f"select distinct _metadata.file_path as path from {table}"
    for table in (
        "bronze.messages",
        "silver.events",
        "silver.topics",
        "gold_storage.things",
        "gold_storage.things_history",
        "gold_plain.things",
        "marts.names",
        "marts.by_day",
        "kept.things_snapshot",
    )
]


def write_project(project):
    write_models(project, MODELS)
    marts = project / "models" / "marts"
    marts.mkdir()
    (marts / "names.sql").write_text(NAMES)
    (project / "snapshots").mkdir(exist_ok=True)
    (project / "snapshots" / "things_snapshot.yml").write_text(SNAPSHOT)


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse, tmp_path_factory):
    """Two things in bronze, silver, gold, a user's own tables; bronze has expired its messages."""
    lakehouse = open_lakehouse("moved", write_project)
    landing = tmp_path_factory.mktemp("moved-landing")
    lakehouse.laboratory = Laboratory(lakehouse, landing, MODELS)
    deliver(lakehouse, change("INSERT", 1, thing(1, "one"), thing(2, "two")))
    lakehouse.dbt("snapshot")
    lakehouse.query(
        "create table marts.by_day (n int, day string) using parquet partitioned by (day)"
    )
    lakehouse.query("insert into marts.by_day values (1, '2026-11-01')")
    path = lakehouse.home / "warehouse" / "gold_storage.db" / "things"
    lakehouse.query(f"create view marts.stored as select id from delta.`{path}`")
    assert lakehouse.command("expire", "--older-than", "0 hours")[0] == 0
    lakehouse.query("select count(*) from bronze.removed_messages")
    return lakehouse


def deliver(lakehouse, *messages):
    lakehouse.laboratory.deliver(*messages, models=[*MODELS, "names"])


@contextmanager
def reopened(lakehouse, home=None):
    """Close the lakehouse, and open it again as another process would; maybe in another folder."""
    former = lakehouse.home
    lakehouse.process.leave()
    yield former
    lakehouse.home = home or former
    lakehouse.process.enter(lakehouse.home, lakehouse.project)


def content(home):
    return {path: path.read_bytes() for path in (home / "warehouse").rglob("*") if path.is_file()}


def read_from(lakehouse):
    return {row["path"] for query in FILES for row in lakehouse.query(query)}


@pytest.mark.long
def test_a_copy_opens_and_leaves_the_original_alone(lakehouse, tmp_path):
    original, copy = lakehouse.home, tmp_path / "a copy of 50% café's_lake"
    with reopened(lakehouse, copy):
        shutil.copytree(original, copy)
    before = content(original)
    assert lakehouse.query(OLD_AND_NEW) == [{"name": "one"}, {"name": "two"}]
    assert lakehouse.query("select count(*) as n from marts.stored") == [{"n": 2}]
    paths = read_from(lakehouse)
    assert paths and not [path for path in paths if str(original) in path]
    assert all("a%20copy%20of%2050%25%20caf" in path for path in paths)
    said = lakehouse.dbt("run", "-s", "events", "row_images", *MODELS)
    assert {said["events"], said["things"], said["things_history"]} == {"NOTHING NEW"}
    deliver(lakehouse, change("UPDATE", 2, thing(1, "of the copy"), old=[{"name": "one"}]))
    lakehouse.query("insert into marts.by_day values (2, '2026-11-02')")
    lakehouse.query("create table marts.of_the_copy using parquet as select 1 as n")
    lakehouse.dbt("snapshot")
    assert content(original) == before
    assert lakehouse.query("select name from marts.names order by 1") == [
        {"name": "of the copy"},
        {"name": "one"},
        {"name": "two"},
    ]
    of_the_copy = content(copy)
    with reopened(lakehouse, original):
        pass
    assert lakehouse.query("select name from gold.things order by id") == [
        {"name": "one"},
        {"name": "two"},
    ]
    deliver(lakehouse, change("UPDATE", 3, thing(2, "of the original"), old=[{"name": "two"}]))
    lakehouse.query("insert into marts.by_day values (3, '2026-11-03')")
    assert not [path for path in read_from(lakehouse) if "a%20copy" in path]
    assert content(copy) == of_the_copy


def test_a_renamed_folder_opens_also_through_a_link(lakehouse):
    names = lakehouse.query(f"{ALL} order by id")
    renamed = lakehouse.home.with_name("renamed")
    with reopened(lakehouse, renamed) as former:
        former.rename(renamed)
    assert lakehouse.query(f"{ALL} order by id") == names
    linked = renamed.with_name("linked")
    linked.symlink_to(renamed)
    with reopened(lakehouse, linked):
        pass
    assert lakehouse.dbt("run", "-s", "events", *MODELS)["events"] == "NOTHING NEW"
    assert lakehouse.query(f"{ALL} order by id") == names


def test_gold_is_built_again_from_silver_after_its_folder_was_deleted(lakehouse):
    before = lakehouse.laboratory.stored()
    versions = lakehouse.laboratory.rows("id, name, valid_from", "things_history")
    plain = lakehouse.query("select * from gold_plain.things order by id")
    # One that the metastore still names, and one that was dropped.
    for schema in ("gold_storage.db", "gold_plain.db"):
        shutil.rmtree(lakehouse.home / "warehouse" / schema / "things")
    lakehouse.query("drop table gold_storage.things_history")
    lakehouse.dbt("run", "-s", "events", *MODELS)
    assert lakehouse.laboratory.stored() == before
    assert lakehouse.query("select * from gold_plain.things order by id") == plain
    assert lakehouse.laboratory.rows("id, name, valid_from", "things_history") == versions


def delete_events(lakehouse):
    shutil.rmtree(lakehouse.home / "warehouse" / "silver.db" / "events")


def delete_log_of_events(lakehouse):
    shutil.rmtree(lakehouse.home / "warehouse" / "silver.db" / "events" / "_delta_log")


def drop_events(lakehouse):
    lakehouse.query("drop table silver.events")


def delete_all_but_bronze(lakehouse):
    # Hive makes its tables once for each name of a Derby that a process opens.
    other_name = lakehouse.home.with_name("all-but-bronze")
    other_name.symlink_to(lakehouse.home)
    with reopened(lakehouse, other_name):
        for path in lakehouse.home.iterdir():
            if path.name not in ("warehouse", "target"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in (lakehouse.home / "warehouse").iterdir():
            if path.name != "bronze.db":
                shutil.rmtree(path)


@pytest.mark.parametrize(
    "delete",
    [
        delete_events,
        pytest.param(delete_log_of_events, marks=pytest.mark.long),
        pytest.param(drop_events, marks=pytest.mark.long),
        delete_all_but_bronze,
    ],
)
def test_silver_is_not_built_over_a_loss_whatever_was_deleted(lakehouse, tmp_path, delete):
    backup, warehouse = tmp_path / "backup", lakehouse.home / "warehouse"
    shutil.copytree(warehouse, backup)
    names = lakehouse.query(f"{ALL} order by id")
    delete(lakehouse)
    lakehouse.dbt("seed")
    for arguments in (["run", "-s", "events"], ["run", "--full-refresh", "-s", "events"]):
        (said,) = lakehouse.dbt(*arguments, fails=True)
        assert "1 dropped by `lakehouse expire`" in said
        assert "silver.db/events back from a backup" in said
        assert "LAKEHOUSE_LOSE_REMOVED=yes" in said
    # What the sentence advises.
    with reopened(lakehouse):
        shutil.rmtree(warehouse)
        shutil.copytree(backup, warehouse)
    assert lakehouse.dbt("run", "-s", "events", "row_images", *MODELS)["events"] == "NOTHING NEW"
    assert lakehouse.query(f"{ALL} order by id") == names


@pytest.mark.long
def test_silver_is_built_over_a_loss_if_somebody_says_so(lakehouse):
    lakehouse.laboratory.deliver(change("INSERT", 4, thing(4, "four")), models=MODELS)
    landed = lakehouse.query("select offset from bronze.messages order by offset")
    delete_events(lakehouse)
    lakehouse.process.submit(_let_lose, "yes").result()
    lakehouse.dbt("run", "-s", "events", "row_images")
    lakehouse.process.submit(_let_lose, "").result()
    # What bronze holds, without the message at offset 0, which has expired.
    assert landed and {"offset": 0} not in landed
    assert lakehouse.query("select distinct offset from silver.events order by 1") == landed
    assert lakehouse.dbt("run", "-s", "events")["events"] == "NOTHING NEW"


def _let_lose(value):
    import os

    os.environ["LAKEHOUSE_LOSE_REMOVED"] = value
