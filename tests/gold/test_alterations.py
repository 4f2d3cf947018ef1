"""What of a stored table changes in place, by what it has and what its model says."""

import json

from cdc_lakehouse.engine.alterations import alterations, clustering
from cdc_lakehouse.engine.columns import column_of

COLUMNS = [
    column_of({"name": "id", "data_type": "int", "description": "Number."}),
    column_of({"name": "it`s", "data_type": "string", "description": "It's new."}),
    column_of({"name": "_sequence", "data_type": "string"}),
]


def schema(**comments):
    fields = [
        {"name": name, "metadata": {"comment": comment} if comment else {}}
        for name, comment in comments.items()
    ]
    return json.dumps({"fields": fields})


def test_what_is_as_the_model_says_is_not_altered():
    stored = schema(**{"id": "Number.", "it`s": "It's new.", "_sequence": ""})
    assert alterations("t", stored, {}, COLUMNS, []) == ()
    assert alterations("t", stored, clustering(["id"]), COLUMNS, ["id"]) == ()


def test_a_comment_that_differs_is_set_and_one_that_is_gone_is_emptied():
    stored = schema(**{"id": "", "it`s": "Old.", "_sequence": "Where it stands."})
    assert alterations("t", stored, {}, COLUMNS, []) == (
        "alter table t alter column `id` comment 'Number.', `it``s` comment 'It\\'s new.', "
        "`_sequence` comment ''",
    )


def test_a_column_that_the_table_lacks_is_no_alteration():
    assert alterations("t", schema(id="Number."), {}, COLUMNS, []) == ()


def test_another_arrangement_is_noted_with_it():
    stored = schema(**{"id": "Number.", "it`s": "It's new.", "_sequence": ""})
    arranged, noted = alterations("t", stored, {}, COLUMNS, ["it`s", "id"])
    assert arranged == "alter table t cluster by (`it``s`, `id`)"
    assert '["it`s", "id"]' in noted
    removed, noted = alterations("t", stored, clustering(["id"]), COLUMNS, [])
    assert removed == "alter table t cluster by none"
    assert "'cdc_lakehouse.clustered_by' = '[]'" in noted
