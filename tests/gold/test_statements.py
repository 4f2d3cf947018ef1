"""The statements that make and write Delta tables."""

from cdc_lakehouse.delta import statements

COLUMNS = [
    {"name": "id", "data_type": "bigint", "constraints": [{"type": "not_null"}]},
    {"name": "it`s", "data_type": "string", "description": " What it's called. "},
    {"name": "late", "data_type": "boolean", "constraints": [{"type": "primary_key"}]},
]

CONSTRAINED = [
    {
        "name": "id",
        "constraints": [
            {"type": "not_null"},
            {"type": "check", "name": "positive", "expression": "id > 0"},
        ],
    },
    {"name": "it`s", "quote": True, "constraints": [{"type": "unique"}, {"type": "not_null"}]},
    {"name": "free"},
]


def words(sql):
    return " ".join(sql.split())


def test_a_table_is_made_with_its_comments_constraints_and_properties():
    made = statements.create_table("gold.t", COLUMNS, {"kind": "it's"}, ["id", "late"])
    assert words(made) == (
        r"create table gold.t ( `id` bigint not null, `it``s` string comment 'What it\'s called.', "
        r"`late` boolean ) using delta cluster by (`id`, `late`) tblproperties ('kind' = 'it\'s')"
    )


def test_a_comment_that_the_metastore_refuses_is_cut_between_words():
    column = {"name": "id", "data_type": "int", "description": "word " * 100}
    made = statements.create_table("gold.t", [column], {})
    comment = made.split("comment '")[1].split("'")[0]
    assert comment == " ".join(["word"] * 49) + "..."


def test_rows_are_written_by_the_names_of_their_columns():
    assert words(statements.insert_rows("gold.t", ["b", "a"], "select 1 as a, 2 as b")) == (
        "insert into gold.t (`b`, `a`) select `b`, `a` from ( select 1 as a, 2 as b )"
    )
    assert words(statements.replace_table("gold.t", ["a"], "select 1 as a", {})) == (
        "create or replace table gold.t using delta as select `a` from ( select 1 as a )"
    )


def test_missing_columns_are_added_in_their_places():
    assert words(statements.add_columns("t", COLUMNS, ["id", "late"])) == (
        "alter table t add columns (`id` bigint not null first, `late` boolean after `it``s`)"
    )


def test_a_plain_table_is_held_to_what_its_columns_have_to_be():
    assert statements.hold_to_constraints("t", CONSTRAINED) == [
        "alter table t add constraint `id_not_null_1` check (id is not null)",
        "alter table t add constraint `positive` check (id > 0)",
        "alter table t add constraint `it``s_not_null_2` check (`it``s` is not null)",
    ]
    assert statements.constraints_without_effect(CONSTRAINED) == ["it`s: unique"]


def test_columns_are_dropped_without_a_new_file():
    assert [words(each) for each in statements.drop_columns("t", ["a", "it`s"])] == [
        "alter table t set tblproperties ('delta.columnMapping.mode' = 'name')",
        "alter table t drop columns (`a`, `it``s`)",
    ]
