"""The oracle of the convergence test, on histories that are short enough to be read."""

import random

import pytest
from convergence import (
    DELETE,
    DROP,
    INSERT,
    NAMES,
    NOTHING,
    REGION_AND_NUMBER,
    SNAPSHOT,
    TRUNCATE,
    UPDATE,
    Cell,
    Change,
    Table,
    cell,
    model_of,
    random_log,
)

KEY, OTHER = ("1",), ("2",)


def whole(**columns):
    """A whole image: NULL in the columns that are not given."""
    return dict.fromkeys(NAMES) | columns


def log(*changes):
    """A statement of one row for each (operation, committed_at, old_key, new_key, carried)."""
    return [[Change(change[0], (n, 0), *change[1:])] for n, change in enumerate(changes)]


def inserted(time, key=KEY, **columns):
    return INSERT, time, None, key, whole(**columns)


def updated(time, key=KEY, **columns):
    return UPDATE, time, key, key, whole(**columns)


def partly(time, key=KEY, **columns):
    return UPDATE, time, key, key, columns


def deleted(time, key=KEY, **columns):
    return DELETE, time, key, None, whole(**columns)


def moved(time, old, new, **columns):
    return UPDATE, time, old, new, whole(**columns)


def truncated(time):
    return TRUNCATE, time


def names(model):
    """The rows that are there, by one of their columns."""
    return {key: row.cells["name"].text for key, row in model.rows.items()}


def versions(model, key=KEY):
    return [
        (v.row.cells["name"].text, v.valid_from, v.valid_to, v.is_current)
        for v in model.versions.get(key, ())
    ]


def applied(*changes, **options):
    return model_of(Table(**options), log(*changes))


def test_a_row_is_what_the_last_change_says():
    model = applied(inserted(10, name="a"), updated(11, name="b"), inserted(12, OTHER, name="c"))
    assert names(model) == {KEY: "b", OTHER: "c"}
    row = model.rows[KEY]
    assert (row.operation, row.position, row.committed_at) == (UPDATE, (1, 0), 11)


def test_a_snapshot_states_a_row():
    model = applied((SNAPSHOT, 9, None, KEY, whole(name="a")))
    assert model.rows[KEY].operation == SNAPSHOT
    assert names(model) == {KEY: "a"}


def test_of_a_deleted_row_the_key_and_the_place_stay():
    model = applied(inserted(10, name="a"), deleted(11))
    assert model.rows == {}
    tombstone = model.last[KEY]
    assert (tombstone.operation, tombstone.position, tombstone.committed_at) == (DELETE, (1, 0), 11)
    assert {value.text for value in tombstone.cells.values()} == {None}
    assert tombstone.older_columns == {}


def test_a_flagged_row_keeps_its_last_content():
    model = applied(inserted(10, name="a"), deleted(11, name="a"), on_delete="flag")
    assert model.rows == {}
    assert model.last[KEY].cells["name"].text == "a"
    model = applied(inserted(10, name="a"), moved(11, KEY, OTHER, name="a"), on_delete="flag")
    assert model.last[KEY].cells["name"].text == "a"
    # A row from before the log: its delete is all that is known of it.
    assert applied(deleted(11, name="a"), on_delete="flag").last[KEY].cells["name"].text == "a"


def test_a_row_after_a_flagged_one_is_another():
    model = applied(
        inserted(10, name="a"), deleted(11, name="a"), partly(12, price="1.00"), on_delete="flag"
    )
    assert names(model) == {KEY: None}


def test_a_key_change_deletes_the_old_row_and_writes_the_new():
    model = applied(inserted(10, name="a"), moved(11, KEY, OTHER, name="b"))
    assert names(model) == {OTHER: "b"}
    assert model.rows[OTHER].operation == UPDATE
    assert (model.last[KEY].operation, model.last[KEY].committed_at) == (DELETE, 11)
    assert model.last[KEY].position == model.rows[OTHER].position
    assert versions(model) == [("a", 10, 11, False)]
    assert versions(model, OTHER) == [("b", 11, None, True)]


def test_a_row_can_move_to_and_fro():
    model = applied(inserted(10, name="a"), moved(11, KEY, OTHER, name="a"), moved(12, OTHER, KEY))
    assert names(model) == {KEY: None}
    assert model.last[OTHER].is_deleted
    assert versions(model) == [("a", 10, 11, False), (None, 12, None, True)]


def test_two_rows_can_change_places_by_way_of_a_third_key():
    spare = ("3",)
    model = applied(
        inserted(10, KEY, name="a"),
        inserted(10, OTHER, name="b"),
        moved(11, KEY, spare, name="a"),
        moved(11, OTHER, KEY, name="b"),
        moved(11, spare, OTHER, name="a"),
    )
    assert names(model) == {KEY: "b", OTHER: "a"}


def partly_moved(time, old, new, **columns):
    return UPDATE, time, old, new, columns


def test_a_row_under_a_new_key_keeps_what_its_change_does_not_carry():
    model = applied(inserted(10, name="a", price="many"), partly_moved(11, KEY, OTHER, photo="00"))
    row = model.rows[OTHER]
    assert (row.cells["photo"].text, row.cells["name"].text) == ("00", "a")
    assert row.problems == [("price", "invalid", "many")]
    assert row.older_columns == {}
    assert versions(model) == [("a", 10, 11, False)]
    assert versions(model, OTHER) == [("a", 11, None, True)]


def test_a_row_under_a_new_key_that_nobody_knew_has_only_what_its_change_carries():
    for changes in ([], [inserted(9, name="a"), deleted(10)], [inserted(9), truncated(10)]):
        row = applied(*changes, partly_moved(11, KEY, OTHER, price="1.00")).rows[OTHER]
        assert (row.cells["price"].text, row.cells["name"].text) == ("1.00", None)
        assert row.problems == [
            (name, "not_carried", None) for name in ("name", "quantity", "seen_at", "photo")
        ]
        assert row.older_columns == {}


def test_what_a_row_under_a_new_key_did_not_carry_may_come_later():
    model = applied(partly_moved(11, KEY, OTHER), partly(12, OTHER, name="b"))
    assert "name" not in [problem[0] for problem in model.rows[OTHER].problems]
    assert model.rows[OTHER].older_columns == {name: (0, 0) for name in NAMES if name != "name"}


def test_a_row_is_followed_through_its_keys():
    third = ("3",)
    model = applied(
        inserted(10, name="a"),
        partly_moved(11, KEY, OTHER, price="1.00"),
        inserted(12, KEY, name="again"),
        partly_moved(13, OTHER, third, photo="00"),
    )
    assert names(model) == {KEY: "again", third: "a"}
    assert model.rows[third].cells["price"].text == "1.00"


def test_rows_change_places_in_one_statement():
    third = ("3",)
    places = [inserted(10, KEY, name="a"), inserted(10, OTHER, name="b")]
    there = partly_moved(11, KEY, OTHER)
    assert names(applied(*places, there, partly_moved(11, OTHER, KEY))) == {OTHER: "a", KEY: "b"}
    assert names(applied(*places, there, partly_moved(11, OTHER, third))) == {
        OTHER: "a",
        third: "b",
    }
    # Another commit moves the row that is there by then, and one that was known to be gone is.
    assert names(applied(*places, there, partly_moved(12, OTHER, KEY))) == {KEY: "a"}
    # Nor does a row take part that is gone in the source and stays in gold.
    for emptied in (truncated(11), (DROP, 11)):
        ignored = applied(
            *places,
            emptied,
            inserted(12, KEY, name="c"),
            partly_moved(13, KEY, OTHER),
            partly_moved(13, OTHER, KEY),
            on_truncate="ignore",
            on_drop="keep",
        )
        assert names(ignored) == {KEY: "c"}


def test_a_partial_update_leaves_the_other_columns():
    model = applied(inserted(10, name="a", price="1.00"), partly(11, price="-2.50"))
    row = model.rows[KEY]
    assert (row.cells["name"].text, row.cells["price"].text) == ("a", "-2.50")
    assert row.older_columns == {name: (0, 0) for name in NAMES if name != "price"}


def test_nothing_is_known_of_the_other_columns_of_a_row_from_before_the_log():
    row = applied(partly(11, price="1.00")).rows[KEY]
    assert (row.cells["price"].text, row.cells["name"].text) == ("1.00", None)
    assert row.older_columns == {name: None for name in NAMES if name != "price"}


def test_a_partial_update_after_a_delete_has_its_own_columns_only():
    model = applied(inserted(10, name="a"), deleted(11), partly(12, price="1.00"))
    assert names(model) == {KEY: None}
    assert model.rows[KEY].older_columns["name"] == (1, 0)


def test_a_value_that_does_not_fit_is_null_and_named():
    row = applied(inserted(10, name="a", price="many", quantity="3000000000")).rows[KEY]
    assert (row.cells["price"].text, row.cells["quantity"].text) == (None, None)
    assert row.problems == [
        ("price", "invalid", "many"),
        ("quantity", "out_of_range", "3000000000"),
    ]


def test_a_truncate_leaves_no_rows_but_the_memory_of_them():
    model = applied(inserted(10, name="a"), truncated(11), inserted(12, OTHER, name="b"))
    assert names(model) == {OTHER: "b"}
    assert model.emptied[TRUNCATE].position == (1, 0)
    assert model.last[KEY].operation == INSERT
    assert versions(model) == [("a", 10, 11, False)]
    assert versions(model, OTHER) == [("b", 12, None, True)]


def test_an_ignored_truncate_changes_nothing():
    model = applied(inserted(10, name="a"), truncated(11), on_truncate="ignore")
    assert names(model) == {KEY: "a"}
    assert model.emptied[TRUNCATE].position == (1, 0)
    assert versions(model) == [("a", 10, None, True)]


def test_a_drop_empties_the_table_where_gold_applies_it():
    changes = (inserted(10, name="a"), (DROP, 11), inserted(12, OTHER, name="b"))
    model = applied(*changes, on_drop="apply")
    assert names(model) == {OTHER: "b"}
    assert model.emptied[DROP].position == (1, 0)
    assert versions(model) == [("a", 10, 11, False)]
    model = applied(*changes, on_drop="keep")
    assert names(model) == {KEY: "a", OTHER: "b"}
    assert model.emptied == {}


def test_a_version_lasts_until_the_next_change():
    model = applied(
        inserted(10, name="a"), updated(20, name="b"), deleted(30), inserted(40, name="b")
    )
    assert versions(model) == [
        ("a", 10, 20, False),
        ("b", 20, 30, False),
        ("b", 40, None, True),
    ]


def test_changes_of_one_transaction_leave_empty_versions():
    model = applied(inserted(10, name="a"), updated(10, name="b"), updated(20, name="a"))
    assert versions(model) == [("a", 10, 10, False), ("b", 10, 20, False), ("a", 20, None, True)]


def test_a_clock_that_goes_back_does_not_make_versions_overlap():
    model = applied(inserted(10, name="a"), updated(5, name="b"), updated(12, name="c"))
    assert versions(model) == [("a", 10, 10, False), ("b", 10, 12, False), ("c", 12, None, True)]
    assert model.versions[KEY][1].row.committed_at == 5


def test_a_change_at_an_unknown_time_has_that_of_the_change_before():
    model = applied(inserted(None, name="a"), updated(20, name="b"), updated(None, name="c"))
    assert versions(model) == [
        ("a", None, 20, False),
        ("b", 20, 20, False),
        ("c", 20, None, True),
    ]


def test_equal_versions_are_one_with_the_place_of_the_last():
    model = applied(inserted(10, name="a"), updated(20, name="a"), updated(30, name="b"))
    assert versions(model) == [("a", 10, 30, False), ("b", 30, None, True)]
    row = model.versions[KEY][0].row
    assert (row.operation, row.position, row.committed_at) == (UPDATE, (1, 0), 20)


def test_equal_versions_with_other_problems_are_two():
    model = applied(inserted(10, price="many"), updated(20), updated(30, price="12345.00"))
    assert [len(version.row.problems) for version in model.versions[KEY]] == [1, 0, 1]


def test_columns_that_are_not_tracked_do_not_make_a_version():
    model = applied(
        inserted(10, name="a", price="1.00"),
        updated(20, name="b", price="1.00"),
        updated(30, name="b"),
        track_columns=("price",),
    )
    assert versions(model) == [("b", 10, 30, False), ("b", 30, None, True)]


@pytest.mark.parametrize(
    ("truncated_at", "inserted_at", "ended_at"),
    [(20, 30, 20), (5, 30, 10), (40, 30, 30), (None, 30, 10), (40, None, 10)],
)
def test_a_truncate_ends_a_version_between_it_and_the_next(truncated_at, inserted_at, ended_at):
    model = applied(inserted(10, name="a"), truncated(truncated_at), inserted(inserted_at))
    assert versions(model)[0] == ("a", 10, ended_at, False)
    assert len(versions(model)) == 2


def test_a_version_does_not_end_before_the_last_change_that_left_it_equal():
    model = applied(inserted(10, name="a"), updated(20, name="a"), truncated(15))
    assert versions(model) == [("a", 10, 20, False)]


def test_equal_rows_before_and_after_a_truncate_are_two_versions():
    model = applied(inserted(10, name="a"), truncated(20), inserted(30, name="a"))
    assert versions(model) == [("a", 10, 20, False), ("a", 30, None, True)]


@pytest.mark.parametrize("key", [("id",), REGION_AND_NUMBER])
@pytest.mark.parametrize("partial", [False, True])
def test_the_model_ends_as_the_source_that_wrote_the_log(key, partial):
    """What is known of a row is what the source has; of whole images it is all."""
    table = Table(key=key, partial=partial, partial_key_changes=partial, misfits=True)
    statements, rows = random_log(table, random.Random(7), keys=20, events=500)
    model = model_of(table, statements)
    # A row from before the log may move before all of it is known.
    named = {Cell(None, (name, "not_carried", None)) for name in NAMES}
    unknown = {NOTHING, *named} if partial else set()
    known = {
        key: {n: row.cells[n] for n in NAMES if row.written[n] and row.cells[n] not in unknown}
        for key, row in model.rows.items()
    }
    wanted = {k: {n: cell(n, rows[k][n]) for n in columns} for k, columns in known.items()}
    assert known == wanted
    assert sum(map(len, known.values())) > 30
    if not partial:
        assert wanted.keys() == rows.keys()
        assert all(len(columns) == len(NAMES) for columns in known.values())


def test_a_random_log_has_everything():
    table = Table(partial=True, partial_key_changes=True, misfits=True)
    statements, _ = random_log(table, random.Random(7), keys=20, events=1000)
    changes = [change for statement in statements for change in statement]
    assert len(changes) >= 1000
    assert {c.operation for c in changes} == {SNAPSHOT, INSERT, UPDATE, DELETE, TRUNCATE}
    assert len([c for c in changes if c.operation == TRUNCATE]) == 4
    assert 0.15 < len([c for c in changes if c.operation == DELETE]) / len(changes) < 0.25
    assert len([c for c in changes if c.changes_key]) > 50
    moves = [{(c.old_key, c.new_key) for c in statement} for statement in statements]
    assert any((new, old) in found for found in moves for old, new in found if old != new)
    assert [c.position for c in changes] == sorted({c.position for c in changes})
    assert None in {c.committed_at for c in changes}
    times = [c.committed_at for c in changes if c.committed_at]
    assert times != sorted(times)
