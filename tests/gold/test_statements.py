"""The statements that make and write Delta tables."""

from cdc_lakehouse.delta import statements

COLUMNS = [
    {"name": "id", "data_type": "bigint", "constraints": [{"type": "not_null"}]},
    {"name": "it`s", "data_type": "string", "description": " What it's called. "},
    {"name": "late", "data_type": "boolean", "constraints": [{"type": "primary_key"}]},
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
