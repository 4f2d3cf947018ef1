"""No number of a JSON message is altered on its way through Spark, and nothing else is.

`exact_json` looks through a message before `from_json` reads it, by the macros that the models use.
"""

import importlib
import json
import os
import random

import pytest
from conftest import PROJECT
from jinja2 import Template

from cdc_lakehouse.runtime.functions import open_package

FIELDS = 'type string, id string comment "a number", data array<map<string, string>>'
SIGNS = ['"', "\\", "\n", "-", "+", ".", ",", ":", "{", "[", " ", "0", "17", "1e5", "a", "é", "😀"]
NUMBERS = [
    "0",
    "-0",
    "7",
    "-12",
    "1.50",
    "-0.10",
    "1e5",
    "2.5E-30",
    "1E-7",
    "3e+8",
    "1e400",
    "9" * 40,
    "9" * 4200,
    "9" * 4400,
    "0.1234567890123456789",
]
BLANKS = ["", "", " ", "\n", "\t "]


@pytest.fixture(scope="module")
def read(spark, tmp_path_factory):
    """Return a function that reads values out of a Parquet file, as the models read theirs."""
    open_package(PROJECT)
    importlib.import_module("udfs.exact_json").register(spark, PROJECT)
    source = (PROJECT / "macros" / "messages" / "json_messages.sql").read_text()
    macros = Template(source).make_module({"var": {"max_message_bytes": 33_554_432}.get})

    def read_values(values):
        path = str(tmp_path_factory.mktemp("values") / "values.parquet")
        rows = [(place, "numbers", bytearray(value.encode())) for place, value in enumerate(values)]
        columns = "place int, format string, value binary"
        spark.createDataFrame(rows, columns).write.parquet(path)
        found = spark.sql(macros.json_messages(f"parquet.`{path}`", "numbers", FIELDS))
        return sorted(found.selectExpr("place", "json_problem as problem", "json").collect())

    return read_values


def draw(draws, depth=3):
    """Return a JSON value twice: with blanks, and as it stands in silver if it is nested."""
    kind = draws.choice(["text", "number", "word"] + ["object", "array"] * (depth > 0))
    if kind == "number":
        number = draws.choice(NUMBERS)
        return number, number
    if kind == "text":
        return draw_text(draws)
    if kind == "word":
        word = draws.choice(["null", "true", "false"])
        return word, word
    members = [draw(draws, depth - 1) for _ in range(draws.randrange(5))]
    if kind == "object":
        names = {place: draw_text(draws, f"{place}") for place in range(len(members))}
        members = [
            (names[place][0] + draws.choice(BLANKS) + ":" + sent, f"{names[place][1]}:{kept}")
            for place, (sent, kept) in enumerate(members)
        ]
    opening, closing = "{}" if kind == "object" else "[]"
    between = draws.choice(BLANKS) + "," + draws.choice(BLANKS)
    sent, kept = between.join(sent for sent, _ in members), ",".join(kept for _, kept in members)
    return opening + sent + closing, opening + kept + closing


def draw_text(draws, start=""):
    text = start + "".join(draws.choices(SIGNS, k=draws.randrange(8)))
    kept = json.dumps(text, ensure_ascii=False)
    return json.dumps(text) if draws.random() < 0.5 else kept, kept


def in_silver(kept):
    """Return a value of a row as silver has it."""
    if kept == "null":
        return None
    return json.loads(kept) if kept.startswith('"') else kept


def test_every_number_is_kept_and_nothing_else_changes(read):
    draws = random.Random(int(os.environ["SEED"]))
    drawn = [[draw(draws), draw(draws)] for _ in range(3_000)]
    sent = [
        f'{{"type":"a","id":{place},"x":{one[0]},"data":[{{"a": {one[0]}, "b" : {two[0]}}}]}}'
        for place, (one, two) in enumerate(drawn)
    ]
    found = read(sent)
    assert len(found) == len(sent)
    for row, (one, two), value in zip(found, drawn, sent, strict=True):
        assert row.problem is None, value[:2000]
        expected = {"a": in_silver(one[1]), "b": in_silver(two[1])}
        assert row.json.data == [expected], value[:2000]
        assert (row.json.type, row.json.id) == ("a", str(row.place))
    assert sum(in_silver(one[1]) != one[0] for one, _ in drawn) > 1_000


def test_what_is_wrong_is_told_and_not_read(read):
    deep = "[" * 990 + "]" * 990
    values = [
        f'{{"type":"a","x":{deep},"data":[{{"a":{deep}}}]}}',
        '{"type":"a"} {"type":"b"}',
        '\ufeff{"type":"a","data":[{"a":1}]}',
        '{"type":"a","id":[1]}',
        "",
    ]
    found = read(values)
    assert [row.problem and row.problem.code for row in found] == [
        *(None, "not_json", None, "wrong_type", "empty_value")
    ]
    assert found[3].problem.detail == "field id: expected a number, found a list"
    assert [row.json and row.json.data for row in found] == [
        *([{"a": deep}], None, [{"a": "1"}], None, None)
    ]
