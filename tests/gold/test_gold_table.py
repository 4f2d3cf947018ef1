"""What a run of a gold model works with, and what it is about to write."""

from dataclasses import replace

import pytest
from dbt.adapters.spark.relation import SparkRelation

from cdc_lakehouse.engine.changes import Changes, NewChanges, where_keys_are
from cdc_lakehouse.engine.columns import Column, Key, gold_columns, primary_key, stored_columns
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_options import DEFAULTS, GoldOptions, read_options
from cdc_lakehouse.engine.gold_relations import function_of
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.latest_changes import TableChanges
from cdc_lakehouse.engine.rebuilds import why_rebuilt
from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.errors import LakehouseError

ID = {"name": "id", "data_type": "bigint", "constraints": []}
NAME = {"name": "name", "data_type": "string", "meta": {"source": "Name", "inferred": True}}
SEEN = {"name": "_sequence", "data_type": "string", "description": "Where it stands."}


def node(kind="current_state", columns=(ID, NAME), key=("id",), **options):
    constraints = [{"type": "primary_key", "columns": list(key)}] if key else []
    return {
        "name": "things",
        "columns": {column["name"]: column for column in columns},
        "constraints": constraints,
        "config": {"materialized": kind, **options},
        "unrendered_config": options,
    }


def model(kind="current_state", sql="select 1", key=("id",), columns=None, **options):
    columns = columns or gold_columns(node(kind))
    stored = stored_columns(columns, kind)
    values = DEFAULTS[kind] | options
    return GoldModel("things", kind, sql, key, GoldOptions(values), tuple(columns), tuple(stored))


def table(read=None, last=7, properties=None, changes=None, **changed):
    view = SparkRelation.create(schema="gold", identifier="things", type="view")
    return GoldTable(
        model(**changed), view, properties or {}, False, None, read, last, False, False, changes
    )


# Columns and key.


def test_a_column_has_its_source_from_its_meta():
    columns = {column.name: column for column in gold_columns(node())}
    assert (columns["id"].source, columns["id"].is_inferred) == ("id", False)
    assert (columns["name"].source, columns["name"].is_inferred) == ("Name", True)
    assert columns["_problems"].data_type.startswith("array<struct<column: string")


def test_the_stored_table_has_the_values_first_and_each_column_once():
    columns = gold_columns(node("history", columns=(SEEN, ID, NAME)))
    names = [column.name for column in stored_columns(columns, "history")]
    assert names[:5] == ["id", "name", "valid_from", "valid_to", "is_current"]
    assert names[5:7] == ["_sequence", "_committed_at"]
    assert len(names) == len(set(names))


def test_columns_that_only_the_view_has_are_not_stored():
    deleted = {"name": "_is_deleted", "data_type": "boolean"}
    assert "_is_deleted" not in [c.name for c in gold_columns(node(columns=(ID, deleted)))]


def test_the_key_is_that_of_the_model_or_of_its_columns():
    assert primary_key(node(key=("name", "id"))) == ["name", "id"]
    of_column = ID | {"constraints": [{"type": "primary_key"}]}
    assert primary_key(node(columns=(of_column, NAME), key=())) == ["id"]


@pytest.mark.parametrize(
    ("key", "said"), [((), "things has no key"), (("nr",), "the key column nr is not among")]
)
def test_a_model_without_a_key_is_refused(key, said):
    with pytest.raises(LakehouseError, match=said):
        primary_key(node(key=key))


# Options.


def options(kind="current_state", **given):
    return read_options(node(kind, **given), ["id"], OWN, {})


OWN = {*DEFAULTS["current_state"], *DEFAULTS["history"], "plain_table", "change_feed"}
OWN.add("on_shared_key")


def test_options_that_are_not_given_have_their_defaults():
    found = options()
    assert (found.retention, found.shows_deleted) == (None, False)
    assert found.removing == ["truncate", "extract"]
    assert options(on_truncate="ignore", on_drop="apply").removing == ["drop", "extract"]
    assert options(plain_table=True).plain_table
    assert (found.on_shared_key, options(on_shared_key="merge").on_shared_key) == (None, "merge")
    assert [options(**{name: True}).keeps_plain for name in ("plain_table", "change_feed")] == [
        True
    ] * 2
    assert not options().keeps_plain


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("current_state", {"on_truncate": "drop"}, 'found "drop"; it is one of apply, ignore'),
        ("current_state", {"on_delete": True}, "found true; it is one of hide, flag"),
        ("current_state", {"plain_table": "on"}, 'found "on"; it is true or false'),
        ("history", {"on_shared_key": "last"}, 'found "last"; it is one of refuse, merge'),
        ("history", {"change_feed": 1.5}, "found 1.5; it is true or false"),
        ("current_state", {"tombstone_retention": "90"}, "a number and a unit, such as 90 days"),
        ("current_state", {"tombstone_retention": 90}, "found 90; it is a number and a unit"),
        ("current_state", {"cluster_by": "id"}, 'found "id"; it is a list of columns'),
        ("current_state", {"cluster_by": ["nr"]}, 'found "nr"; the columns of its YAML are id, na'),
        ("current_state", {"track_columns": ["name"]}, "no such option of current_state"),
        ("history", {"track_columns": ["id"]}, "id is of the key, which never changes"),
        ("history", {"on_delete": "flag"}, "there is no such option of history"),
        ("history", {"track_colums": ["name"]}, "did you mean track_columns?"),
    ],
)
def test_a_wrong_option_is_refused_with_what_was_found_and_what_is_wanted(kind, given, said):
    with pytest.raises(LakehouseError) as refused:
        options(kind, **given)
    assert str(refused.value).startswith(f"things: option {next(iter(given))}: ")
    assert said in str(refused.value)


def test_a_column_of_the_feed_is_refused_where_there_is_one():
    reserved = {"name": "_Before", "data_type": "string"}
    given = node(columns=(ID, reserved), change_feed=True)
    with pytest.raises(LakehouseError, match="the model has the column _before; the feed has a"):
        read_options(given, ["id"], OWN, {})
    read_options(node(columns=(ID, reserved)), ["id"], OWN, {})


# Whether a table is built again.


def test_blanks_and_notes_are_no_change_of_a_definition_and_all_else_is():
    same = model(sql="select a\n-- a note\nfrom t").definition
    assert model(sql="select  a from t").definition == same
    assert model(sql="select b from t").definition != same
    assert model(sql="select  a from t", key=("name",)).definition != same
    assert model(sql="select  a from t", on_truncate="ignore").definition != same


AS_IT_IS = {
    "cdc_lakehouse.definition": "d",
    "cdc_lakehouse.partial_rows": "none",
    "cdc_lakehouse.partial_moves": "none",
}
OLD = AS_IT_IS | {"cdc_lakehouse.partial_rows": "some"}
del OLD["cdc_lakehouse.partial_moves"]


@pytest.mark.parametrize(
    ("stored", "changed", "reprocessed", "asked", "why"),
    [
        (AS_IT_IS, [], False, False, None),
        (AS_IT_IS, [], False, True, ""),
        (AS_IT_IS, ["name"], False, False, "its definition has changed: name"),
        (AS_IT_IS | {"cdc_lakehouse.definition": "e"}, [], False, False, "its SQL, its key or"),
        (AS_IT_IS, [], True, False, "messages of its source tables were reprocessed"),
        (OLD, [], False, False, "rows whose primary key has changed keep more columns"),
        (OLD | {"cdc_lakehouse.partial_rows": "none"}, [], False, False, None),
    ],
)
def test_a_table_is_built_again_for_a_reason(stored, changed, reprocessed, asked, why):
    found = why_rebuilt(stored, "d", changed, reprocessed, asked)
    assert found == why if not why else found.startswith(why)


# What a run reads.


def test_a_run_reads_what_silver_has_processed_since():
    assert table(read=4).is_new("v") == "v <= 7 and v > 4"
    assert table().is_new("v") == "v <= 7"
    assert table(read=4).everything.is_new("v") == "v <= 7"
    assert table(read=7).is_up_to_date and not table(read=4).is_up_to_date
    assert not table().is_up_to_date
    # Silver has read nothing yet.
    assert table(last=None).is_up_to_date and table(read=4, last=None).is_up_to_date


def test_a_table_of_which_no_source_table_has_changed_is_up_to_date():
    sql = "select 1 from silver.row_images where table_name = 'orders'"
    orders, items = (
        TableChanges(SourceTable("shop", None, name), 1, 0, 0, 0) for name in ("orders", "items")
    )
    assert table(read=4, changes=[items], sql=sql).is_up_to_date
    assert table(read=4, changes=[], sql=sql).is_up_to_date
    assert not table(read=4, changes=[items, orders], sql=sql).is_up_to_date
    # It is not known what has changed, or nothing has been read yet.
    assert not table(read=4, changes=None, sql=sql).is_up_to_date
    assert not table(changes=[], sql=sql).is_up_to_date


def test_new_changes_are_summed_over_the_tables_that_a_model_reads():
    orders = SourceTable("shop", None, "orders")
    items = SourceTable("shop", None, "it's")
    new = NewChanges((TableChanges(orders, 3, 1, 0, 0), TableChanges(items, 2, 0, 0, 2)))
    assert (new.most, new.has_updates, new.has_pairs) == (5, True, False)
    assert new.drops == r"_source_table in ('shop.it\'s')"
    assert (NewChanges().most, NewChanges().drops) == (0, "")


# Where the rows of changed keys can be.

KEY = Key(
    (Column("id", "bigint", "id"), Column("name", "string", "name")),
    (Column("name", "string", "name"), Column("id", "bigint", "id")),
)
RANGE = {"first_0": "a", "last_0": "b'", "is_short_0": True}
RANGE |= {"first_1": "1", "last_1": "9", "is_short_1": True}


def test_of_many_keys_the_first_and_the_last_are_named():
    assert where_keys_are(RANGE, KEY) == (
        "stored.`id` between cast('1' as bigint) and cast('9' as bigint) and "
        r"stored.`name` between cast('a' as string) and cast('b\'' as string)"
    )


def test_of_few_keys_the_first_column_is_named_value_by_value():
    assert where_keys_are(RANGE | {"keys": '["a", "b"]'}, KEY) == (
        "stored.`id` between cast('1' as bigint) and cast('9' as bigint) and "
        "(stored.`name` = cast('a' as string) or stored.`name` = cast('b' as string))"
    )


def test_a_column_without_statistics_or_with_a_long_value_says_nothing():
    assert where_keys_are(RANGE | {"is_short_0": False, "is_short_1": False}, KEY) == "true"
    binary = Column("id", "binary", "id")
    assert where_keys_are(RANGE, Key((binary,), (binary,))) == "true"


def test_a_key_that_holds_a_backtick_is_quoted():
    column = Column("i`d", "int", "id")
    assert Key((column,), (column,)).is_that_of("changed") == "stored.`i``d` <=> changed.`i``d`"


def test_a_truncate_touches_every_row_and_finds_its_markers():
    assert table().is_touched(Changes(truncates=True)) == "true"
    found = Changes(truncates=True, keys="k")
    assert table().rows_can_be(found) == "(k or stored._truncated_table is not null)"
    assert table(tombstone_retention="1 day").rows_can_be(found) == "true"


# Functions of a history, and what it knew when.


def test_a_history_has_functions_named_after_its_table():
    assert table().functions == ()
    functions = [str(each.relation) for each in table(kind="history").functions]
    assert functions == ["gold.`things_as_of`", "gold.`things_as_known`"]
    view = SparkRelation.create(schema="gold", identifier="a-b_history", type="view")
    assert function_of(view, "as_of").identifier == "`a-b_as_of`"


def test_only_a_history_stores_when_a_change_was_known():
    assert "_known_at" not in model().stored_names
    history = model("history")
    assert "`_known_at`" in history.change_names and "_known_at" in history.unmerged_names
    assert "_known_at" not in history.shown_names and "_is_version" not in history.shown_names
    assert "`valid_from`" in history.shown_names


def test_a_history_that_is_built_again_remembers_what_it_knew():
    history = table(kind="history")
    assert not history.keeps_times
    assert replace(history, rebuild=True).keeps_times
    assert replace(history, rebuild=True, altered=["_of_a_later_release", "name"]).keeps_times
    for lacking in ("_known_at", "_fingerprint"):  # a release that had no such column yet
        assert not replace(history, rebuild=True, altered=[lacking]).keeps_times
    assert not replace(table(), rebuild=True).keeps_times


def test_the_views_wait_for_the_columns_that_they_name():
    assert not table().lacks_columns
    assert not replace(table(), altered=["that_the_model_had"]).lacks_columns
    assert replace(table(), altered=["name", "that_the_model_had"]).lacks_columns
    assert replace(table(), altered=["_of_a_later_release"]).lacks_columns
    assert replace(table(kind="history"), altered=["valid_to"]).lacks_columns
