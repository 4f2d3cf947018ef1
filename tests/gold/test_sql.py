"""Texts and names as Spark SQL takes them; the macro that writes literals writes the same."""

import pytest
from conftest import PROJECT
from jinja2 import Environment

from cdc_lakehouse.sql import identifier, quoted

LITERALS = {
    "": "''",
    "plain": "'plain'",
    "it's": r"'it\'s'",
    r"back\slash": r"'back\\slash'",
    r"\'": r"'\\\''",
    "${name} {{ jinja }}": r"'$\u007bname} \u007b\u007b jinja }}'",  # no variable of Spark's
    "日本\n\t`": "'日本\n\t`'",
}


@pytest.mark.parametrize("text", LITERALS)
def test_a_text_is_written_so_that_spark_reads_the_text(text):
    assert quoted(text) == LITERALS[text]


def test_a_name_may_hold_anything():
    assert identifier("a`b.c'${d}") == "`a``b.c'${d}`"


def test_the_macro_writes_the_same_literals():
    folders = (PROJECT / "macros", PROJECT / "src" / "dbt")
    found = [path for folder in folders for path in folder.rglob("*.sql")]
    homes = [path for path in found if "macro text_literal(" in path.read_text()]
    for path in homes:
        environment = Environment(extensions=["jinja2.ext.do"])
        environment.globals["return"] = lambda value: value
        macro = environment.from_string(path.read_text()).module.text_literal
        assert {text: macro(text).strip() for text in LITERALS} == LITERALS
