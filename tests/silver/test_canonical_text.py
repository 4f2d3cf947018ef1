"""One table of canonical texts, which the macros of SQL and the decoders of Avro both pass."""

import csv
import importlib
import re

import pytest
from conftest import PROJECT
from jinja2 import Template

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
avro = importlib.import_module("udfs._avro_text")
dts = importlib.import_module("udfs._dts_values")


def cases():
    """Return (kind, sent, canonical) of the table, in which <n> stands for so many zeros."""
    with open(PROJECT / "tests" / "canonical_text.csv", newline="", encoding="utf-8") as file:
        return [
            (row["kind"], row["sent"], re.sub("<([0-9]+)>", zeros, row["canonical"]))
            for row in csv.DictReader(file)
        ]


def zeros(match):
    return "0" * int(match[1])


def macro(name, **macros):
    source = (PROJECT / "macros" / "values" / f"{name}.sql").read_text()
    return getattr(Template(source).make_module(macros), name)


def epoch_text(sent):
    seconds, _, fraction = sent.partition(".")
    return avro.epoch_text(int(seconds), int(fraction.ljust(9, "0")), 9)


PYTHON = {
    "number": avro.plain_decimal,
    "integer": lambda sent: dts.integer({"value": sent}, None, None),
    "timestamp": epoch_text,
}


@pytest.mark.parametrize(("kind", "sent", "canonical"), cases())
def test_the_decoders_of_avro(kind, sent, canonical):
    assert PYTHON[kind](sent) == canonical


def test_the_macros_of_sql(spark):
    epoch = macro("epoch_text_to_utc", trimmed_fraction=macro("trimmed_fraction"))
    expressions = {"number": macro("plain_number"), "timestamp": epoch}
    expressions["integer"] = expressions["number"]
    nulls = [(kind, None, None) for kind in expressions]
    rows = spark.createDataFrame([*cases(), *nulls], "kind string, sent string, canonical string")
    whens = " ".join(f"when '{kind}' then {sql('sent')}" for kind, sql in expressions.items())
    found = rows.selectExpr("kind", "sent", "canonical", f"case kind {whens} end as text")
    assert [row for row in found.collect() if row.text != row.canonical] == []
