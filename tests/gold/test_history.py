"""What a history holds, and what the options of gold models change: expected rows by hand."""

from datetime import datetime, timedelta

import pytest
from laboratory import Laboratory, change, shareplex, thing, truncate, write_models

pytestmark = pytest.mark.long

MODELS = {
    "things": "",
    "things_history": "materialized='history'",
    # As AUTO CDC names them.
    "things_by_name_history": "materialized='scd2', track_history_columns=['name']",
    "things_untruncated_history": "materialized='history', on_truncate='ignore'",
    "things_untruncated": "materialized='scd1', on_truncate='ignore'",
    "things_kept": "on_delete='flag', cluster_by=['id']",
    "things_forgetful": "tombstone_retention='0 hours'",
}
# What is run where the others are not looked at; they have more to read the next time.
FEW = ("things", "things_history")
START = datetime(2026, 11, 1)
VERSION = "id, name, valid_from, valid_to, is_current"


def at(minutes):
    return START + timedelta(minutes=minutes)


def es(minutes):
    return 1_793_491_200_000 + int(minutes * 60_000)


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("history", change=lambda project: write_models(project, MODELS))
    return Laboratory(lakehouse, tmp_path_factory.mktemp("history-landing"), MODELS)


def test_versions_end_where_the_next_change_of_their_key_begins(laboratory):
    laboratory.deliver(
        change("UPDATE", 300, thing(1, "c"), old=[{"name": "b"}], es=es(3)),
        change("INSERT", 100, thing(1, "a"), es=es(1)),
        change("DELETE", 400, thing(1, "c"), es=es(4)),
        change("INSERT", 110, thing(2, "x"), es=es(1)),
    )
    assert laboratory.rows(VERSION, "things_history") == [
        (1, "a", at(1), at(3), False),
        (1, "c", at(3), at(4), False),
        (2, "x", at(1), None, True),
    ]


def test_a_late_change_finds_its_place(laboratory):
    late = change("UPDATE", 200, thing(1, "b"), old=[{"name": "a"}], es=es(2))
    # In the same transaction as the insert: a version of no duration, which no moment sees.
    same = change("UPDATE", 120, thing(2, "y"), old=[{"name": "x"}], es=es(1))
    laboratory.deliver(late, same, late, models=FEW)
    assert laboratory.rows(VERSION, "things_history") == [
        (1, "a", at(1), at(2), False),
        (1, "b", at(2), at(3), False),
        (1, "c", at(3), at(4), False),
        (2, "x", at(1), at(1), False),
        (2, "y", at(1), None, True),
    ]


def test_a_key_change_ends_one_row_and_begins_another(laboratory):
    laboratory.deliver(
        change("UPDATE", 500, thing(3, "y"), old=[{"id": "2"}], es=es(5)),
        change("UPDATE", 600, thing(3, "y"), old=[{"name": "y"}], es=es(6)),
        change("UPDATE", 700, thing(3, "y", "2.00"), old=[{"price": "1.00"}], es=es(7)),
    )
    price = "id, name, cast(price as string), valid_from, valid_to"
    assert laboratory.rows(price, "things_history")[4:] == [
        (2, "y", "1.00", at(1), at(5)),
        # Equal rows in a run are one version.
        (3, "y", "1.00", at(5), at(7)),
        (3, "y", "2.00", at(7), None),
    ]
    # Where only the name is tracked, a version shows the last price.
    assert laboratory.rows(price, "things_by_name_history")[4:] == [
        (2, "y", "1.00", at(1), at(5)),
        (3, "y", "2.00", at(5), None),
    ]


def test_a_truncate_ends_what_is_older(laboratory):
    laboratory.deliver(
        truncate(800, es(8)),
        change("INSERT", 900, thing(4, "new"), es=es(9)),
        change("INSERT", 750, thing(5, "gone"), es=es(7.5)),
    )
    assert laboratory.rows(VERSION, "things_history")[5:] == [
        (3, "y", at(5), at(7), False),
        (3, "y", at(7), at(8), False),
        (4, "new", at(9), None, True),
        (5, "gone", at(7.5), at(8), False),
    ]
    assert laboratory.rows("id", "things") == [(4,)]
    # A table that ignores it says so.
    assert laboratory.rows("id", "things_untruncated") == [(3,), (4,), (5,)]
    assert laboratory.rows("id, valid_to", "things_untruncated_history")[6:] == [
        (3, None),
        (4, None),
        (5, None),
    ]
    problems = "select * except (table_name) from gold_storage.things_untruncated_problems"
    assert [tuple(row.values()) for row in laboratory.lakehouse.query(problems)] == [
        (None, "ignored_truncate", "lab.things", at(8))
    ]


def test_a_late_change_divides_a_run_and_a_truncated_one_stays_ended(laboratory):
    laboratory.deliver(
        change("UPDATE", 650, thing(3, "z"), old=[{"name": "y"}], es=es(6.5)),
        change("UPDATE", 850, thing(6, "late"), old=[{"name": "?"}], es=es(8.5)),
        models=FEW,
    )
    assert laboratory.rows(VERSION, "things_history")[5:] == [
        (3, "y", at(5), at(6.5), False),
        (3, "z", at(6.5), at(7), False),
        (3, "y", at(7), at(8), False),
        (4, "new", at(9), None, True),
        (5, "gone", at(7.5), at(8), False),
        (6, "late", at(8.5), None, True),
    ]


def test_versions_do_not_overlap_where_the_clock_jumps_back(laboratory):
    laboratory.deliver(
        change("UPDATE", 1000, thing(4, "back"), old=[{"name": "new"}], es=es(2)),
        change("UPDATE", 1100, thing(4, "unknown"), old=[{"name": "back"}], es=0),
        change("UPDATE", 1200, thing(4, "on"), old=[{"name": "unknown"}], es=es(12)),
        models=FEW,
    )
    assert laboratory.rows(VERSION, "things_history")[8:12] == [
        (4, "new", at(9), at(9), False),
        (4, "back", at(9), at(9), False),
        (4, "unknown", at(9), at(12), False),
        (4, "on", at(12), None, True),
    ]


def test_partial_images_are_completed_from_earlier_changes(laboratory):
    first = shareplex("ins", 2000, thing(7, "a", "3.00"))
    second = shareplex("upd", 2001, {"name": "b"}, {"id": "7", "name": "a"})
    third = shareplex("upd", 2002, {"price": "4.00"}, {"id": "7", "price": "3.00"})
    moved = shareplex("upd", 2003, {"id": "8", "name": "c"}, {"id": "7", "name": "b"})
    laboratory.deliver(third, moved, topic="plex.things", models=FEW)
    laboratory.deliver(first, second, topic="plex.things")
    columns = "id, name, cast(price as string), valid_from, valid_to"
    assert laboratory.rows(columns, "things_history")[-4:] == [
        (7, "a", "3.00", at(20), at(21)),
        (7, "b", "3.00", at(21), at(22)),
        (7, "b", "4.00", at(22), at(23)),
        # What a change that changes the key does not carry stays as it was under the old key.
        (8, "c", "4.00", at(23), None),
    ]
    assert laboratory.rows("id, _problems", "things_history")[-1] == (8, [])
    assert laboratory.rows()[-1] == (8, "c", "4.00")


def test_the_current_versions_are_the_current_rows(laboratory):
    for current, history in [
        ("things", "things_history"),
        ("things_untruncated", "things_untruncated_history"),
    ]:
        rows = laboratory.lakehouse.query(f"select * from gold.{current} order by id")
        columns = "* except (valid_from, valid_to, is_current)"
        versions = laboratory.lakehouse.query(
            f"select {columns} from gold.{history} where is_current order by id"
        )
        assert versions == rows and rows


def test_the_rows_as_of_a_moment(laboratory):
    def as_of(minutes, model="things"):
        moment = f"timestamp '{at(minutes)}'"
        sql = f"select id, name from gold.{model}_as_of({moment}) order by id"
        return [tuple(row.values()) for row in laboratory.lakehouse.query(sql)]

    assert as_of(0.5) == []
    assert as_of(1) == [(1, "a"), (2, "y")]
    assert as_of(3) == [(1, "c"), (2, "y")]
    assert as_of(4) == [(2, "y")]
    assert as_of(7.75) == [(3, "y"), (5, "gone")]
    assert as_of(8) == []
    assert as_of(60) == laboratory.rows("id, name")


def test_a_flagged_delete_keeps_the_last_content(laboratory):
    deleted = "id, name, _operation, _is_deleted"
    assert laboratory.rows(deleted, "things_kept") == [
        (1, "c", "delete", True),
        (2, "y", "delete", True),
        (3, "y", "update", True),
        (4, "on", "update", False),
        (5, "gone", "insert", True),
        (6, "late", "update", False),
        (7, "b", "delete", True),
        (8, "c", "update", False),
    ]


def test_tombstones_are_forgotten_after_their_retention(laboratory):
    tombstones = "select id from gold_storage.{} where _operation = 'delete' order by id"
    query = laboratory.lakehouse.query
    assert [row["id"] for row in query(tombstones.format("things"))] == [1, 2, 7]
    # A retention of no hours: the tombstones of earlier runs went with this run's merge.
    laboratory.deliver(change("DELETE", 2100, thing(4, "on"), es=es(30)))
    assert [row["id"] for row in query(tombstones.format("things"))] == [1, 2, 4, 7]
    assert [row["id"] for row in query(tombstones.format("things_forgetful"))] == [4]
    assert laboratory.rows(model="things_forgetful") == laboratory.rows()


def test_a_full_refresh_gives_the_same_stored_rows(laboratory):
    models = [name for name in MODELS if name != "things_forgetful"]
    before = {name: laboratory.stored(name) for name in models}
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", *models)
    for name in models:
        assert laboratory.stored(name) == before[name], name
    details = laboratory.lakehouse.query("describe detail gold_storage.things_kept")
    assert details[0]["clusteringColumns"] == ["id"]


def test_nothing_is_written_when_nothing_is_new(laboratory):
    commits = {name: len(laboratory.history(name)) for name in MODELS}
    said = laboratory.lakehouse.dbt("run", "-s", *MODELS)
    assert {said[name] for name in MODELS} == {"NOTHING NEW"}
    assert {name: len(laboratory.history(name)) for name in MODELS} == commits


@pytest.mark.parametrize(
    "options, words",
    [
        ("on_truncate='aply'", ["on_truncate", '"aply"', "apply, ignore"]),
        ("on_delete='drop'", ["on_delete", '"drop"', "hide, flag"]),
        ("tombstone_retention='soon'", ["tombstone_retention", '"soon"', "90 days"]),
        ("track_columns=['name']", ["track_columns", "no such option", "on_delete"]),
        ("materialized='history', on_delete='flag'", ["on_delete", "track_columns"]),
        ("materialized='history', track_columns=['nme']", ["track_columns", '"nme"', "name"]),
        ("materialized='history', track_columns=['id']", ["track_columns", "of the key"]),
        ("cluster_by='id'", ["cluster_by", '"id"', "list"]),
        ("plain_table='yes'", ["plain_table", '"yes"', "true or false"]),
        ("on_truncat='apply'", ["on_truncat:", "no such option", "did you mean on_truncate?"]),
        ("materialized='history', clusterby=['id']", ["clusterby", "did you mean cluster_by?"]),
    ],
)
def test_a_wrong_option_is_refused_when_it_is_compiled(laboratory, options, words):
    write_models(laboratory.lakehouse.project, MODELS | {"things_wrong": options})
    said = laboratory.lakehouse.dbt("compile", "-s", "things_wrong", fails=True)
    (laboratory.lakehouse.project / "models/gold/lab/things_wrong.sql").unlink()
    assert len(said) == 1 and all(word in said[0] for word in ["things_wrong", *words]), said
