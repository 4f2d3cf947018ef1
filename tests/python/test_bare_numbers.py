"""`quote_numbers` puts every bare number of a JSON text in quotes, and touches nothing else.

`quote_fractions` does so where a fraction is bare; integers alone may stay as they are.
"""

import json
import os
import random

import pytest
from conftest import PROJECT
from jinja2 import Template

LENGTH = 1_000_000  # of a text that a pattern with a memory, or a stack, would not get through
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
    "9" * 40,
    "0.1234567890123456789",
]
BLANKS = ["", "", " ", "\n", "\t "]
NO_NUMBERS = ["01", "1.", "-", ".5", "1a", "--1", "1.2.3", "+1", "1e", "0x1F"]


def read_macro(name, **macros):
    source = (PROJECT / "macros" / "messages" / f"{name}.sql").read_text()
    return getattr(Template(source).make_module(macros), name)


def quoting(spark, macro):
    expression = macro("text")

    def quote(*texts):
        rows = spark.createDataFrame(list(enumerate(texts)), "place int, text string")
        found = rows.selectExpr("place", f"{expression} as text").collect()
        return [row.text for row in sorted(found)]

    return quote


@pytest.fixture(scope="module")
def quoted(spark):
    return quoting(spark, read_macro("quote_numbers"))


@pytest.fixture(scope="module")
def quoted_fractions(spark):
    quote_numbers = read_macro("quote_numbers")
    return quoting(spark, read_macro("quote_fractions", quote_numbers=quote_numbers))


def draw(draws, depth=3):
    """Return a JSON value twice: its numbers bare, and in quotes."""
    kind = draws.choice(["text", "number", "word"] + ["object", "array"] * (depth > 0))
    if kind == "number":
        number = draws.choice(NUMBERS)
        return number, f'"{number}"'
    if kind in ("text", "word"):
        value = draw_text(draws) if kind == "text" else draws.choice(["null", "true", "false"])
        return value, value
    members = [draw(draws, depth - 1) for _ in range(draws.randrange(5))]
    if kind == "object":
        names = [draw_text(draws) + draws.choice(BLANKS) + ":" for _ in members]
        members = [
            [name + text for text in member] for name, member in zip(names, members, strict=True)
        ]
    opening, closing = "{}" if kind == "object" else "[]"
    between = draws.choice(BLANKS) + "," + draws.choice(BLANKS)
    sides = (between.join(member[side] for member in members) for side in (0, 1))
    return tuple(opening + text + closing for text in sides)


def draw_text(draws):
    text = "".join(draws.choices(SIGNS, k=draws.randrange(8)))
    return json.dumps(text, ensure_ascii=draws.random() < 0.5)


def test_every_number_is_quoted_and_nothing_else(quoted):
    draws = random.Random(int(os.environ["SEED"]))
    values = [draw(draws) for _ in range(10_000)]
    assert sum(bare != text for bare, text in values) > 3_000
    assert quoted(*(bare for bare, _ in values)) == [text for _, text in values]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_stays_for_the_reader_to_refuse(quoted, text):
    (found,) = quoted(f'{{"a": {text}, "b": 1}}')
    with pytest.raises(json.JSONDecodeError):
        json.loads(found)


@pytest.mark.parametrize("unit", ["x", "17", r"\\", r"\"", '", "'])
def test_a_long_text_is_no_more_than_long(quoted, unit):
    before = '{"a": "' + unit * (LENGTH // len(unit)) + '", "b": '
    (found,) = quoted(before + "1.10}")
    assert found == before + '"1.10"}'


def test_a_message_with_a_bare_fraction_has_all_its_numbers_quoted(quoted_fractions):
    draws = random.Random(int(os.environ["SEED"]))
    values = [[f'{{"a": {side}}}' for side in draw(draws)] for _ in range(10_000)]
    found = quoted_fractions(*(bare for bare, _ in values))
    with_fractions = 0
    for (bare, text), outcome in zip(values, found, strict=True):
        fractions = []
        json.loads(bare, parse_float=fractions.append)
        with_fractions += bool(fractions)
        assert outcome == text or (outcome == bare and not fractions)
    assert 1_000 < with_fractions < 9_000


def test_a_message_that_quotes_its_fractions_is_left_alone(quoted_fractions):
    text = '{"id":7,"data":[{"a":"12.50","b":"22:13:20.5","c":"1e5","d":null}],"types":{"a":3}}'
    assert quoted_fractions(text) == [text]
