"""Judges dbt's unit tests of the formats with one plan a format instead of one a test.

Spark takes longer to analyse a format than to run it. So the messages of all unit tests of a format
are united, each topic behind the name of its test, the format's compiled model reads them once, and
each test is compared by itself, in the columns that it names. The YAML and the fixtures are dbt's;
`test_sample.py` proves that dbt and this module judge alike.
"""

import json
import re
from collections import defaultdict
from contextlib import redirect_stdout
from functools import cache, reduce
from io import StringIO
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from cdc_lakehouse.runtime.session import compile_plans
from cdc_lakehouse.sql import quoted

# What stands before a topic: the test that the message belongs to.
BEHIND = "#"
# A unit test names an input as a model does.
_INPUT = re.compile(r"ref\('(\w+)'\)")


# Columns of text: a test that expects more of one of them fails, and is no error.
_TEXTS = ("operation", "kind", "table_name", "sequence", "reject_reason")


def judge_formats() -> dict[str, str | None]:
    """Return what is wrong with each unit test that one plan a format can judge; None if nothing.

    The process has a lakehouse open, and its project as the working directory.
    """
    return _judged(_parsed())


def judge_broken(step: int) -> tuple[set[str], set[str], set[str]]:
    """Break the expectations of each `step`-th unit test, and let dbt judge all of them as well.

    Returns:
        The names of the tests that were broken, that this module finds, and that dbt finds.
    """
    from dbt.cli.main import dbtRunner

    manifest, broken = _parsed(), set()
    united = [test for tests in formats_of(manifest).values() for test in tests]
    for test in united[::step]:
        row = next(iter(test.expect.rows), {})
        for column in [name for name in _TEXTS if row.get(name)][:1]:
            row[column] += "x"
            broken.add(test.name)
    found = {name for name, fault in _judged(manifest).items() if fault}
    names = [test.name for test in united]
    done = dbtRunner(manifest=manifest).invoke(["--quiet", "test", "-s", *names])
    # What dbt does at the end of a run is a result too.
    results = [r for r in done.result.results if r.node.resource_type == "unit_test"]
    assert len(results) == len(names)
    return broken, found, {r.node.name for r in results if r.status != "pass"}


def _parsed() -> Any:
    from dbt.cli.main import dbtRunner

    return dbtRunner().invoke(["--quiet", "parse"]).result


def _judged(manifest: Any) -> dict[str, str | None]:
    from dbt.cli.main import dbtRunner

    from dbt.adapters.lakehouse.connections import root_session

    formats = formats_of(manifest)
    with redirect_stdout(StringIO()):  # dbt prints what it has compiled
        done = dbtRunner(manifest=manifest).invoke(["--quiet", "compile", "-s", *formats])
    judged: dict[str, str | None] = {}
    for node in (result.node for result in done.result.results):
        session = root_session({}).newSession()
        compile_plans(session, False)
        judged |= judge(session, node._pre_injected_sql, formats[node.name])
    return judged


def formats_of(manifest: Any) -> dict[str, list[Any]]:
    """Return the unit tests that one plan can judge, by the model that they test.

    Their inputs are queries of ephemeral models that have a topic.
    """
    found = defaultdict(list)
    for test in manifest.unit_tests.values():
        names = [_INPUT.fullmatch(given.input) for given in test.given]
        if all(names) and any(name[1] == "messages" for name in names):
            found[test.model].append(test)
    return dict(found)


def judge(session: Any, model: str, tests: list[Any]) -> dict[str, str | None]:
    """Compare what a format's model makes of all its tests' messages with what they expect.

    Args:
        session: a Spark session with the functions of `udfs/`.
        model: the compiled query, which reads its inputs as `__dbt__cte__NAME`.
        tests: the unit tests of the model, out of dbt's manifest.

    Returns:
        What is wrong with each test, by its name; None if it is as expected.
    """
    inputs = defaultdict(dict)
    for test in tests:
        for given in test.given:
            inputs[_INPUT.fullmatch(given.input)[1]][test.name] = given.rows
    for name, queries in inputs.items():
        _united(session, queries).createOrReplaceTempView(f"__dbt__cte__{name}")
    results = session.sql(model)
    types = {name.lower(): data_type for name, data_type in results.dtypes}
    expected = session.sql(_expected(tests, types))
    given, sought = _rows_by_test(results), _rows_by_test(expected)
    return {test.name: _difference(test, given[test.name], sought[test.name]) for test in tests}


def _united(session: Any, queries: dict[str, str]) -> Any:
    """Return all messages of an input; what few fixtures have is null in the others."""
    frames = (
        session.sql(
            f"select * except (topic), '{test}{BEHIND}' || topic as topic from (\n"
            f"{_rendered(query)}\n)"
        )
        for test, query in queries.items()
    )
    united = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    # Spark would optimise the format once for each query that it reads.
    return united.coalesce(1).localCheckpoint()


def _rendered(fixture: str) -> str:
    """Return the query of a fixture, as dbt renders it: by the macro `messages`, or as it is."""
    return _fixtures().from_string(fixture).render()


@cache
def _fixtures() -> Environment:
    macros = Path("macros", "messages", "messages.sql").read_text()  # of the project at work
    environment = Environment(undefined=StrictUndefined, extensions=["jinja2.ext.do"])
    environment.globals |= {"fromjson": json.loads, "text_literal": quoted}
    module = environment.from_string(macros, globals=environment.globals).make_module()
    environment.globals["messages"] = module.messages
    return environment


def _expected(tests: list[Any], types: dict[str, str]) -> str:
    """Return a query with all rows that the tests expect, of the types that the model gives."""
    rows = [(test.name, row) for test in tests for row in test.expect.rows]
    columns = [name for name in types if name != "topic"]

    def written(test: str, row: dict[str, Any]) -> str:
        named = {name.lower(): value for name, value in row.items()}
        values = [
            f"cast({_literal(named.get(c), types[c])} as {types[c]}) as `{c}`" for c in columns
        ]
        topic = _literal(f"{test}{BEHIND}{named.get('topic', '')}", "string")
        return f"select {topic} as topic, {', '.join(values)}"

    return "\nunion all\n".join(written(test, row) for test, row in rows)


def _literal(value: Any, data_type: str) -> str:
    """Write a value as dbt-spark writes it: an array, a map or a struct is an expression."""
    if value is None:
        return "null"
    if not isinstance(value, str):
        return str(value)
    escaped = value.replace("'", "\\'")
    is_expression = data_type.startswith(("array", "map", "struct"))
    return escaped.strip('"').strip("'") if is_expression else f"'{escaped}'"


def _rows_by_test(frame: Any) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in frame.collect():
        values = {name.lower(): value for name, value in row.asDict(recursive=True).items()}
        test, _, values["topic"] = values["topic"].partition(BEHIND)
        found[test].append(values)
    return found


def _difference(test: Any, given: list[dict], sought: list[dict]) -> str | None:
    if len({tuple(row) for row in test.expect.rows}) > 1:
        return "its rows name other columns than the first"
    columns = [name.lower() for name in next(iter(test.expect.rows), {})]

    def shown(rows: list[dict]) -> list[str]:
        return sorted(
            "\n".join(f"{c}: {_text(row[c], test.name)}" for c in columns) for row in rows
        )

    found, wanted = shown(given), shown(sought)
    if found == wanted:
        return None
    return "found\n{}\n\nexpected\n{}".format("\n\n".join(found), "\n\n".join(wanted))


def _text(value: Any, test: str) -> str:
    """Write a value with the order of a map's entries, and without the name of the test."""
    shown = list(value.items()) if isinstance(value, dict) else value
    return repr(shown).replace(f"{test}{BEHIND}", "")
