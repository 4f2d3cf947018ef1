"""An erasure cleans, or names, every table that the metastore knows, whoever made it."""

import os

import pytest
from laboratory import Laboratory, change, thing, write_models
from test_erase import files_that_hold

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate import erase as erasure

pytestmark = pytest.mark.long

PERSON, NAME = "770077", "Quillfeather"
MARTS = {
    # Delta, with what tells its rows apart.
    "thing_log": """{{ config(materialized='incremental', file_format='delta', schema='marts',
    incremental_strategy='merge', unique_key=['topic', 'partition', 'offset', 'row_number']) }}
select topic, partition, offset, row_number, after['name'] as name, bronze_version
from {{ ref('row_changes') }} where table_name = 'things'
{% if is_incremental() %}
and bronze_version > (select max(bronze_version) from {{ this }}) {% endif %}
""",
    # Parquet, as dbt-spark makes it.
    "thing_append": """{{ config(materialized='incremental', schema='marts') }}
select id, name, _sequence from {{ ref('things') }}
{% if is_incremental() %} where _sequence > (select max(_sequence) from {{ this }}) {% endif %}
""",
    "thing_totals": """{{ config(materialized='table', schema='marts') }}
select count(*) as things, max(name) as last_name from {{ ref('things') }}
""",
    # Never rebuilt, and without what tells its rows apart.
    "thing_names": """{{ config(materialized='incremental', file_format='delta', schema='marts',
    full_refresh=false) }}
select name from {{ ref('things') }}
""",
}
SNAPSHOTS = """snapshots:
  - name: thing_versions
    relation: ref('things')
    config: {schema: kept, file_format: delta, unique_key: id, strategy: check, check_cols: [name],
      hard_deletes: new_record}
"""
RENAMED = """{% snapshot thing_labels %}
{{ config(schema='kept', file_format='delta', unique_key='number', strategy='check',
    check_cols=['label']) }}
select id as number, name as label from {{ ref('things') }}
{% endsnapshot %}
"""
# Its failures are stored, with the name of the person.
STORED_TEST = """
models:
  - name: thing_append
    columns:
      - name: name
        data_tests:
          - accepted_values:
              name: known_names
              arguments: {values: [nobody]}
              config: {store_failures: true, severity: warn, schema: failures}
"""
# The tables of another project, which this one knows nothing of.
STRANGERS = {
    "second.copied": "using delta as select * from gold.things",
    "second.labels": "using parquet as select id, name from gold.things",
    "second.totals": "using delta as select count(*) as things from gold.things",
}


def write_project(project):
    write_models(project, {"things": ""})
    marts = project / "models" / "marts"
    marts.mkdir()
    for name, sql in MARTS.items():
        (marts / f"{name}.sql").write_text(sql)
    (marts / "_marts.yml").write_text(STORED_TEST)
    (project / "snapshots").mkdir(exist_ok=True)
    (project / "snapshots" / "things.yml").write_text(SNAPSHOTS)
    (project / "snapshots" / "labels.sql").write_text(RENAMED)


def _erase(table, subjects, dry_run):
    from dbt.adapters.lakehouse import connections

    report = erasure.erase(table, subjects, os.getcwd(), dry_run, sessions=connections)
    return report.lines, report.is_complete


def _killed(table, subjects):
    """Erase until the first table is to be purged, as if the process died there."""
    from cdc_lakehouse.operate.erase import carry_out
    from dbt.adapters.lakehouse import connections

    def dies(spark, table):
        raise LakehouseError("killed")

    done, carry_out.purge = carry_out.purge, dies
    try:
        erasure.erase(table, subjects, os.getcwd(), sessions=connections)
    except LakehouseError as error:
        return str(error)
    finally:
        carry_out.purge = done
    return None


def named(lines):
    """The lines in which a report names tables."""
    first = lines.index("Not cleaned, so do it by hand:")
    return [line for line in lines[first:] if line.startswith("  ")]


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("erase-tables", write_project)
    laboratory = Laboratory(lakehouse, tmp_path_factory.mktemp("landing"), {"things": ""})
    models = ["things", "row_changes", *MARTS]
    laboratory.deliver(
        change("INSERT", 1, thing(PERSON, NAME), thing(8, "eight")),
        change("INSERT", 2, thing(9, "nine")),
        models=models,
    )
    lakehouse.dbt("snapshot")
    renamed = change("UPDATE", 3, thing(PERSON, f"{NAME}-Moss"), old=[{"name": NAME}])
    laboratory.deliver(renamed, models=models)
    lakehouse.dbt("snapshot")
    lakehouse.dbt("test", "-s", "known_names")
    lakehouse.query("create schema second")
    for table, rows in STRANGERS.items():
        lakehouse.query(f"create table {table} {rows}")
    return lakehouse


def test_what_can_be_cleaned_is_and_all_else_is_named(lakehouse):
    assert any("failures.db" in p for p in files_that_hold(lakehouse.home, NAME)[NAME])
    lines, is_complete = lakehouse.process.submit(
        _erase, "lab.things", [{"id": PERSON}], True
    ).result()
    assert "marts.thing_append would be rebuilt" in lines
    assert "kept.thing_versions: 2 rows would be removed" in lines
    assert "second.copied: 1 rows would be removed" in lines
    expected = named(lines)
    assert [line.split(":")[0].strip() for line in expected] == [
        "kept.thing_labels",
        "marts.thing_names",
        "second.labels",
        "second.totals",
    ]
    assert "2 rows hold the key's text" in expected[0] and "snapshot thing_labels" in expected[0]
    assert "full_refresh: false" in expected[1]
    assert "1 rows hold the key's text" in expected[2]
    assert "no model of this project makes it" in expected[3]

    said = lakehouse.process.submit(_killed, "lab.things", [{"id": PERSON}]).result()
    assert "killed" in said
    (written_down,) = (lakehouse.home / "removals").iterdir()
    assert PERSON not in written_down.read_text()
    lines, is_complete = lakehouse.process.submit(_erase, None, [], False).result()
    assert named(lines) == expected
    assert not is_complete
    assert lines[-1].endswith("is not complete: 3 tables are named above to be cleaned.")

    held = files_that_hold(lakehouse.home, NAME)[NAME]
    assert {path.split("/")[2] for path in held} == {"thing_labels", "thing_names", "labels"}
    for query in (
        "select name from marts.thing_log order by 1",
        "select name from marts.thing_append order by 1",
        "select value_field as name from failures.known_names order by 1",
        "select name from second.copied order by 1",
        "select name from kept.thing_versions order by 1",
    ):
        assert lakehouse.query(query) == [{"name": "eight"}, {"name": "nine"}], query
    totals = lakehouse.query("select * from marts.thing_totals")
    assert totals == [{"things": 2, "last_name": "nine"}]


def test_a_second_erasure_names_what_is_left_until_it_is_cleaned(lakehouse):
    arguments = (_erase, "lab.things", [{"id": PERSON}], False)
    lines, is_complete = lakehouse.process.submit(*arguments).result()
    assert lines[0] == "Nothing found of the key in lab.things."
    assert not is_complete
    assert [line.split(":")[0].strip() for line in named(lines)] == [
        "kept.thing_labels",
        "second.labels",
    ]
    lakehouse.query(f"delete from kept.thing_labels where number = {PERSON}")
    lakehouse.query("drop table second.labels")
    lines, is_complete = lakehouse.process.submit(*arguments).result()
    assert (lines, is_complete) == (["Nothing found of the key in lab.things."], True)
    # dbt goes on: nothing of the person comes back.
    lakehouse.dbt("run", "-s", "events", "things", "row_changes", *MARTS)
    lakehouse.dbt("snapshot")
    versions = lakehouse.query("select name from kept.thing_versions order by 1")
    assert versions == [{"name": "eight"}, {"name": "nine"}]
