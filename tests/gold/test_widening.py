"""Which wider types a stored table takes in place, and by which statements."""

from dataclasses import replace

import pytest
from test_gold_table import model

from cdc_lakehouse.engine.columns import Column
from cdc_lakehouse.engine.rebuilds import DEFINITION
from cdc_lakehouse.engine.widening import Widened, unfit_values, widened_columns, widening

SQL = """select
    {{change_columns}},
    try_cast(image['id'] as {id}) as id,
    try_cast(image['Total sum'] as {total}) as total
from silver.row_images"""


def things(key="int", total="int", sql=None):
    """A model of two columns, which it casts to their types, as add-table writes it."""
    columns = (Column("id", key, "id"), Column("total", total, "Total sum"))
    return model(sql=sql or SQL.format(id=key, total=total), columns=columns)


def types(key="integer", total="integer"):
    return {"id": key, "total": total}


def found(before, now, stored, wanted, definition=None):
    now = replace(now, stored=now.columns)
    return widened_columns(now, stored, wanted, definition or before.definition)


@pytest.mark.parametrize(
    ("before", "now", "stored", "wanted"),
    [
        ("tinyint", "smallint", "byte", "short"),
        ("smallint", "int", "short", "integer"),
        ("int", "bigint", "integer", "long"),
        ("int", "decimal(10, 0)", "integer", "decimal(10,0)"),
        ("bigint", "decimal(22,2)", "long", "decimal(22,2)"),
        ("decimal(10,2)", "decimal(12,4)", "decimal(10,2)", "decimal(12,4)"),
        ("decimal(10, 2)", "decimal(12, 2)", "decimal(10,2)", "decimal(12,2)"),
    ],
)
def test_a_type_that_holds_all_values_of_the_other_alike_is_taken(before, now, stored, wanted):
    before, now = things(total=before), things(total=now)
    (widened,) = found(before, now, types(total=stored), types(total=wanted))
    assert widened.column.name == "total"


@pytest.mark.parametrize(
    ("before", "now", "stored", "wanted"),
    [
        ("bigint", "int", "long", "integer"),
        # 0.1 is another number as a double, and 3 is written as 3.0.
        ("float", "double", "float", "double"),
        ("int", "double", "integer", "double"),
        ("int", "decimal(9, 0)", "integer", "decimal(9,0)"),
        ("bigint", "decimal(20, 1)", "long", "decimal(20,1)"),
        ("decimal(10, 2)", "decimal(10, 4)", "decimal(10,2)", "decimal(10,4)"),
        ("decimal(10, 2)", "decimal(12, 1)", "decimal(10,2)", "decimal(12,1)"),
        ("int", "string", "integer", "string"),
        ("date", "timestamp_ntz", "date", "timestamp_ntz"),
    ],
)
def test_another_type_is_rebuilt(before, now, stored, wanted):
    before, now = things(total=before), things(total=now)
    assert found(before, now, types(total=stored), types(total=wanted)) == ()


def test_a_key_gets_more_digits_only():
    longer = types(key="long")
    (widened,) = found(things("int"), things("bigint"), types(), longer)
    assert (widened.column.name, widened.stored) == ("id", "int")
    decimal = things("decimal(10, 0)")
    assert found(things("int"), decimal, types(), types(key="decimal(10,0)")) == ()


def test_several_columns_are_widened_at_once():
    widened = found(things(), things("bigint", "bigint"), types(), types("long", "long"))
    assert [each.column.name for each in widened] == ["id", "total"]


def test_a_column_that_arranges_the_files_is_rebuilt():
    before, now = (things(total=t) for t in ("int", "bigint"))
    arranged = [
        replace(m, options=replace(m.options, values={**m.options.values, "cluster_by": ["total"]}))
        for m in (before, now)
    ]
    assert found(before, now, types(), types(total="long"))
    assert found(*arranged, types(), types(total="long")) == ()


def test_a_model_that_has_changed_in_another_way_too_is_rebuilt():
    before, longer = things(total="int"), types(total="long")
    other = SQL.format(id="int", total="bigint").replace("as total", "* 2 as total")
    assert found(before, things(total="bigint", sql=other), types(), longer) == ()
    keyed = replace(things(total="bigint"), key_names=("id", "total"))
    assert found(before, keyed, types(), longer) == ()
    with_other_column = {**longer, "more": "string"}
    assert found(before, things(total="bigint"), types(), with_other_column) == ()
    # The type alone is in the YAML, and the query still casts to the old one.
    unchanged = things(total="bigint", sql=before.sql)
    assert found(unchanged, unchanged, types(), longer, "of an older model") == ()


def test_the_statements_widen_and_then_note_the_model():
    now = things(total="bigint")
    widened = [Widened(now.columns[1], "int")]
    enabled, altered, noted = widening("t", now, widened)
    assert enabled == "alter table t set tblproperties ('delta.enableTypeWidening' = 'true')"
    assert altered == "alter table t alter column `total` type bigint"
    assert noted == f"alter table t set tblproperties ('{DEFINITION}' = '{now.definition}')"
    assert widening("t", now, []) == ()


def test_the_question_is_of_the_changes_without_a_key_where_it_is_widened():
    key, total = things("bigint", "bigint").columns
    query = "select 1 from t where exists(_problems, problem -> problem.column in ({}))"
    assert unfit_values("t", "w", [Widened(total, "int")], ["id"]) == (
        query.format("'total'") + " limit 1"
    )
    assert unfit_values("t", "w", [Widened(key, "int"), Widened(total, "int")], ["id"]) == (
        query.format("'id', 'total'") + " union all select 1 from w limit 1"
    )
