"""Which change says the columns that a row keeps while its key changes, on histories by hand."""

import random
from dataclasses import replace

import convergence
import pytest

from cdc_lakehouse.engine.key_changes import (
    DELETE,
    DROP,
    TRUNCATE,
    Change,
    connected,
    follow,
    is_marked,
    marks_of,
)

COLUMNS = ("name", "price")


class Log:
    """Changes in the source's order, at one place after the other; each has its place as a time."""

    def __init__(self):
        self.changes = []
        self.place = 0

    def add(self, key, operation, carried=COLUMNS, place=None, **more):
        self.place = place or self.place + 1
        change = Change(
            key=key,
            sequence=more.pop("sequence", f"{self.place:03d}"),
            fingerprint=len(self.changes),
            operation=operation,
            not_carried=frozenset(COLUMNS) - frozenset(carried),
            source_table=more.pop("source_table", "t"),
            committed_at=more.pop("committed_at", self.place),
            **more,
        )
        self.changes.append(change)
        return change

    def insert(self, key, **more):
        return self.add(key, "insert", **more)

    def update(self, key, *carried):
        return self.add(key, "update", carried)

    def delete(self, key):
        return self.add(key, DELETE)

    def empty(self, operation=TRUNCATE, **more):
        return self.add(None, operation, **more)

    def change_key(self, old, new, *carried, **more):
        """Both rows of an update of the key; the row under the new one is returned."""
        self.add(old, DELETE, is_replaced=True, **more)
        more |= {"former_key": old}
        return self.add(new, "update", carried, place=self.place, **more)

    def change_key_in_two(self, old, new, *carried, new_first=False):
        """The same as a delete and an insert, which have one place and an order behind it."""
        self.place += 1
        pair = f"{self.place:03d}"
        rows = [
            {"key": old, "operation": DELETE, "is_replaced": True, "carried": COLUMNS},
            {"key": new, "operation": "insert", "former_key": old, "carried": carried},
        ]
        ordered = reversed(rows) if new_first else rows
        found = [
            self.add(place=self.place, pair=pair, sequence=f"{pair}.{number}", **row)
            for number, row in enumerate(ordered)
        ]
        return next(change for change in found if change.former_key)

    def kept(self, *removing):
        """Of each column kept under a new key the change that says it, None if there was no row."""
        random.Random(7).shuffle(self.changes)
        followed = follow(self.changes, COLUMNS, removing or (TRUNCATE,))
        return {(k.change, name): k.said_by for k in followed.kept for name in k.columns}

    def void(self):
        return [(change.key, change.sequence) for change in follow(self.changes, COLUMNS).void]


def test_a_row_under_a_new_key_keeps_what_the_row_of_the_old_key_had():
    log = Log()
    inserted, renamed = log.insert("a"), log.update("a", "name")
    moved = log.change_key("a", "b")
    assert log.kept() == {(moved, "name"): renamed, (moved, "price"): inserted}
    assert log.void() == []


@pytest.mark.parametrize("new_first", [False, True])
def test_a_delete_and_an_insert_are_one_key_change(new_first):
    log = Log()
    inserted, renamed = log.insert("a"), log.update("a", "name")
    moved = log.change_key_in_two("a", "b", new_first=new_first)
    again = log.change_key_in_two("b", "c", "name", new_first=not new_first)
    assert log.kept() == {
        (moved, "name"): renamed,
        (moved, "price"): inserted,
        (again, "price"): inserted,
    }
    assert log.void() == []


def test_an_insert_of_a_row_from_an_unknown_key_keeps_nothing():
    log = Log()
    log.insert("a")
    log.delete("a")
    begun = log.add("a", "insert", ("name",), former_key="[null,null]")
    assert log.kept() == {(begun, "price"): None}


def test_only_what_comes_before_the_move_counts():
    log = Log()
    inserted = log.insert("a")
    moved = log.change_key("a", "b", "price")
    log.insert("a")
    log.update("b", "name")
    assert log.kept() == {(moved, "name"): inserted}


def test_a_row_is_followed_through_any_number_of_keys():
    log = Log()
    inserted = log.insert("a")
    first = log.change_key("a", "b", "price")
    second = log.change_key("b", "c")
    back = log.change_key("c", "a")
    assert log.kept() == {
        (first, "name"): inserted,
        (second, "name"): inserted,
        (second, "price"): first,
        (back, "name"): inserted,
        (back, "price"): first,
    }


def test_a_key_change_that_carries_all_columns_begins_them_again():
    log = Log()
    log.insert("a")
    whole = log.change_key("a", "b", *COLUMNS)
    moved = log.change_key("b", "c")
    assert log.kept() == {(moved, "name"): whole, (moved, "price"): whole}


def test_two_keys_are_swapped_by_way_of_a_third():
    log = Log()
    first, second = log.insert("a"), log.insert("b")
    key_changes = [log.change_key("a", "x"), log.change_key("b", "a"), log.change_key("x", "b")]
    assert [log.kept()[change, "name"] for change in key_changes] == [first, second, first]
    assert log.void() == []


def test_rows_of_one_statement_change_places():
    log = Log()
    rows = [log.insert(key) for key in "abc"]
    pairs = ["ab", "bc", "ca"]
    key_changes = [log.change_key(*pair, committed_at=9) for pair in pairs]
    assert [log.kept()[change, "name"] for change in key_changes] == rows
    # The rows that these rows before name have gone before, and others stand in their places.
    assert log.void() == [("b", key_changes[1].sequence), ("c", key_changes[2].sequence)]


def test_rows_of_one_statement_change_places_with_all_their_columns():
    """As `update lines set line = line + 1`: each takes the key of the next before that leaves."""
    log = Log()
    for key in "abc":
        log.insert(key)
    key_changes = [log.change_key(*pair, *COLUMNS, committed_at=9) for pair in ["ab", "bc", "cd"]]
    assert log.kept() == {}
    assert log.void() == [("b", key_changes[1].sequence), ("c", key_changes[2].sequence)]


def test_a_row_goes_on_to_a_further_key_in_one_statement():
    log = Log()
    log.insert("a")
    for pair in ["ab", "bc"]:
        log.change_key(*pair, *COLUMNS, committed_at=9)
    assert log.void() == []


@pytest.mark.parametrize("between", ["another commit", "another change of the key"])
def test_later_the_row_moves_that_has_come(between):
    log = Log()
    log_of_first = log.insert("a")
    log.insert("b")
    log.change_key("a", "b", committed_at=9)
    if between == "another commit":
        expected, moved = log_of_first, log.change_key("b", "c", committed_at=10)
    else:
        expected = log.insert("b", committed_at=9)
        moved = log.change_key("b", "c", committed_at=9)
    assert log.kept()[moved, "name"] == expected
    assert log.void() == []


@pytest.mark.parametrize("end", [TRUNCATE, DROP, DELETE, "key change", None])
def test_where_no_row_was_nothing_is_known(end):
    log = Log()
    if end:
        log.insert("a")
    if end == "key change":
        log.change_key("a", "elsewhere", *COLUMNS)
    elif end == DELETE:
        log.delete("a")
    elif end:
        log.empty(end)
    moved = log.change_key("a", "b", "price")
    again = log.change_key("b", "c")
    kept = log.kept(TRUNCATE, DROP)
    assert kept == {(moved, "name"): None, (again, "name"): None, (again, "price"): moved}


def test_an_ignored_truncate_and_that_of_another_table_remove_no_row():
    log = Log()
    inserted = log.insert("a")
    log.empty(DROP)
    log.empty(TRUNCATE, source_table="other")
    moved = log.change_key("a", "b", "price")
    assert log.kept() == {(moved, "name"): inserted}


def test_a_row_that_an_ignored_truncate_has_removed_takes_no_part_in_a_swap():
    log = Log()
    log.insert("b")
    log.empty(DROP)
    inserted = log.insert("a")
    log.change_key("a", "b", committed_at=9)
    back = log.change_key("b", "a", committed_at=9)
    assert log.kept()[back, "name"] == inserted


def test_what_a_row_from_before_the_log_had_is_in_no_change():
    log = Log()
    renamed = log.update("a", "name")
    moved = log.change_key("a", "b")
    assert log.kept() == {(moved, "name"): renamed}


def test_keys_are_connected_through_others():
    groups = connected([("a", "b"), ("c", "d"), ("d", "b"), ("x", "y"), ("y", "x")])
    assert len({groups[key] for key in "abcd"}) == 1
    assert groups["x"] == groups["y"] != groups["a"]
    assert groups.keys() == set("abcdxy")
    assert connected([]) == {}


def test_a_table_says_of_few_keys_which_they_are():
    # md5 of 1 and of 2.
    assert marks_of(["2", "1", "2"]) == "c4ca4238a0b92382 c81e728d9d4c2f63"
    assert len(marks_of(map(str, range(5_000))).split()) == 5_000
    assert marks_of(map(str, range(5_001))) == "some"
    assert is_marked("key", "c4ca4238a0b92382 c81e728d9d4c2f63") == (
        "left(md5(key), 16) in ('c4ca4238a0b92382', 'c81e728d9d4c2f63')"
    )


def image(change, key, operation, **more):
    """What one row of a change of a random log says of a key."""
    statement, row = change.position
    return Change(
        key=str(key),
        sequence=f"{statement:09d}.{row:03d}",
        fingerprint=hash((operation, key)),
        operation=operation,
        source_table="t",
        committed_at=change.committed_at,
        **more,
    )


def images(change, in_two=False):
    """The images of a change of a random log, the row that it writes last.

    Args:
        in_two: whether a key change comes as a delete and an insert, each with an order of its own.
    """
    if change.operation in (TRUNCATE, DROP):
        return [image(change, None, change.operation)]
    if change.operation == DELETE:
        return [image(change, change.old_key, DELETE)]
    removed = image(change, change.old_key, DELETE, is_replaced=True)
    not_carried = frozenset(convergence.NAMES) - frozenset(change.carried)
    written = image(
        change,
        change.new_key,
        change.operation,
        not_carried=not_carried if change.operation == convergence.UPDATE else frozenset(),
        former_key=str(change.old_key) if change.changes_key else None,
    )
    if not change.changes_key:
        return [written]
    if in_two:
        removed, written = (
            replace(row, pair=row.sequence, sequence=f"{row.sequence}.{row.fingerprint}")
            for row in (removed, written)
        )
    return [removed, written]


@pytest.mark.parametrize("on_truncate", ["apply", "ignore"])
@pytest.mark.parametrize("on_drop", ["apply", "keep"])
@pytest.mark.parametrize("in_two", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_moved_rows_are_those_of_the_model(seed, in_two, on_drop, on_truncate):
    """The same random logs that the convergence test delivers, without Spark."""
    table = convergence.Table(
        partial=True,
        partial_key_changes=True,
        misfits=True,
        on_truncate=on_truncate,
        on_drop=on_drop,
    )
    statements, _ = convergence.random_log(table, random.Random(seed), keys=20, events=300)
    model = convergence.Model(table)
    changes, texts, expected = [], {}, {}
    for change in (change for statement in statements for change in statement):
        model.apply(change)
        *_, written = told = images(change, in_two)
        changes += told
        cells = {name: convergence.cell(name, text) for name, text in change.carried.items()}
        texts[written] = dict.fromkeys(convergence.NAMES, convergence.NOTHING) | cells
        if written.former_key:
            expected[written] = model.rows[change.new_key].cells
    random.Random(seed).shuffle(changes)
    removing = [DROP] * (on_drop == "apply") + [TRUNCATE] * (on_truncate == "apply")
    found = {change: dict(texts[change]) for change in expected}
    for kept in follow(changes, convergence.NAMES, removing).kept:
        for name in kept.columns:
            unknown = convergence.Cell(None, (name, "not_carried", None))
            found[kept.change][name] = texts[kept.said_by][name] if kept.said_by else unknown
    assert found == expected
    assert expected
