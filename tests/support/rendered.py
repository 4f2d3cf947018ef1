"""What sqlfluff says of SQL that was rendered.

Its own run with dbt's templater tells parse errors there, but no fault of style: that would stand
in the text of a macro, which is no SQL.
"""

import re

from conftest import PROJECT
from sqlfluff.core import FluffConfig, Linter

# Rules that make sense for SQL that a program writes: none of layout. A file may be long.
CHANGED = {
    "templater": "raw",
    "rules": "capitalisation,AL02,AL04,AL05,AL08,AM01,AM02,CV01,CV02,CV05,CV07,CV11,ST04",
    "large_file_skip_byte_limit": 0,
}
LINTER = Linter(FluffConfig.from_path(str(PROJECT), overrides=CHANGED))


def look_at(sql):
    """Return what is wrong with a statement, parse errors too, and the columns that it reads."""
    linted = LINTER.lint_string(sql)
    faults = [f"{f.rule_code()} at line {f.line_no}: {f.desc()}" for f in linted.get_violations()]
    return faults, roots_of_columns(linted.tree) if linted.tree else set()


def roots_of_columns(tree):
    """Return the columns that a statement reads and does not make itself, without their fields."""
    read = [column.raw.lower() for column in tree.recursive_crawl("column_reference")]
    return {re.split(r"[.\[]", column)[0] for column in read} - made_in(tree.raw)


def made_in(sql):
    """Return the names that a statement gives: to columns, and to the variables of a lambda."""
    made = re.findall(r"\bas (\w+)|\b(\w+) ->|^\s*(?:\w+\.)+(\w+),?$", sql.lower(), re.MULTILINE)
    lists = re.findall(r"\bas \(([\w, ]+)\)|\(([\w, ]+)\) ->", sql.lower())
    names = [name for found in made for name in found]
    names += [name for found in lists for names in found for name in names.split(", ")]
    return {name for name in names if name}
