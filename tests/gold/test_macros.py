"""Every macro is used, says what it is, and renders SQL that a linter accepts."""

import json
import re

import pytest
from conftest import PROJECT
from dbt.cli.main import dbtRunner
from dbt_common.clients.jinja import get_environment
from jinja2 import Environment, meta
from rendered import look_at, made_in

from cdc_lakehouse.sql import quoted

FOLDER = PROJECT / "macros"
# What is no SQL by itself: a list, a schema's name, the fields of a type, a pattern.
NO_SQL = {"formats", "twins", "generate_schema_name", "canal_fields", "binary_types"}
NO_SQL |= {"debezium_fields"}
NO_SQL |= {"maxwell_fields", "oms_debezium_fields"}
# What fixtures call; see test_the_lines_of_a_fixture_are_messages.
NO_SQL |= {"messages", "bytes_of"}
# What only projects of before 0.2.0 call.
FORMER_NAMES = {"outcomes"}
# Other names of materializations, which no model of this repository has.
OTHER_NAMES = {"materialization_scd1_lakehouse", "materialization_scd2_lakehouse"}
# What stands for an argument that is neither an expression nor a name.
ARGUMENTS = {
    "numbers": ["given", "given"],
    "delivery": ["given", "given"],
    "row_operations": ["INSERT", "DELETE"],
    "has": ["ddl"],
    "condition": lambda column: f"{column} > 0",
    "full_load": "INIT",
    "unit": "seconds",
    "deleted_in": "data",
    "images": ["given", "given"],
}
BLOCK = re.compile(
    r"(?P<comment>\{#-(?:(?!#\}).)*-#\}\n)?"
    r"\{%-?\s*macro (?P<name>\w+)\(.*?\{%-? endmacro -?%\}",
    re.DOTALL,
)


def blocks():
    """Return {name: (comment, text)} of the macros of the project."""
    texts = "".join(path.read_text() for path in sorted(FOLDER.rglob("*.sql")))
    return {block["name"]: (block["comment"], block[0]) for block in BLOCK.finditer(texts)}


BLOCKS = blocks()
SQL_MACROS = sorted(BLOCKS.keys() - NO_SQL)
TEXTS = "".join(text for _, text in BLOCKS.values())
KNOWN = {"var": {}.get, "fromjson": json.loads, "text_literal": quoted}
ENVIRONMENT = Environment(extensions=["jinja2.ext.do"])
MACROS = ENVIRONMENT.from_string(TEXTS).make_module(KNOWN)


def render(name, **arguments):
    """Return a statement with what a macro renders if all its arguments are `given`."""
    macro = getattr(MACROS, name)
    stand_ins = {argument: ARGUMENTS.get(argument, "given") for argument in macro.arguments}
    sql = macro(**{**stand_ins, **arguments})
    is_list = re.search(r" as \w+\s*$", sql)
    if sql.startswith(("select", "with ")):
        return f"{sql}\n"
    return f"select {sql}{'' if is_list else ' as result'} from given\n"


@pytest.mark.parametrize("name", BLOCKS)
def test_a_macro_is_short_and_says_what_it_is(name):
    comment, text = BLOCKS[name]
    assert comment, f"{name} has no comment above it"
    lines = text.removeprefix(comment).splitlines()
    assert len([line for line in lines if line.strip()]) <= 40


@pytest.mark.parametrize("name", SQL_MACROS)
def test_a_macro_renders_sql_that_a_linter_accepts(name):
    """It reads, too, what it is given and, if it is a statement, the columns its comment names."""
    faults, columns = look_at(render(name))
    assert faults == []
    assert columns - {"given"} - (columns_named_by(name) if is_statement(name) else set()) == set()


def is_statement(name):
    return render(name).startswith(("select\n", "select *", "with "))


def columns_named_by(name):
    """Return the words of a macro's comment, and those of what the comment names in backticks."""
    comment, _ = BLOCKS[name]
    known = set(re.findall(r"\w+", comment.lower()))
    for other in set(re.findall(r"`(\w+)`", comment)) & BLOCKS.keys() - {name}:
        if other in NO_SQL:
            known |= set(re.findall(r"\w+", getattr(MACROS, other)().lower()))
        else:
            known |= columns_named_by(other) | made_by(other)
    return known


def made_by(name):
    return made_in(render(name))


def test_a_fault_is_found():
    sql = render("has_all_columns")
    assert "CP01" in look_at(sql.replace("select", "SELECT"))[0][0]
    assert "PRS" in look_at(sql.replace("coalesce(", "coalesce(case "))[0][0]
    _, columns = look_at(
        "select\n    f(a.b, x -> x + c['d'] + e) as e,\n    g.h,\n    h\nfrom given\n"
    )
    assert columns == {"a", "c", "g"}


def test_a_format_may_still_say_what_it_is_without():
    """As formats of projects of earlier releases do."""
    has = ["row_number", "key_columns", "committed_at", "produced_at", "transaction_id"]
    without = ["schema_name", "column_types", "source_type", "ddl", "dropped_tables"]
    without.append("transaction_row")
    assert MACROS.result_rows("given", without=without) == MACROS.result_rows("given", has=has)
    less = MACROS.result_rows("given", without=["row_number", "before", "before_is_complete"])
    assert "cast(null as map<string, string>) as before" in less and "0 as row_number" in less
    assert "map_keys(before)" not in less


def test_a_format_may_still_end_with_the_former_name():
    """It says so once its model is compiled; what it renders is the same."""
    said = []
    known = KNOWN | {
        "execute": True,
        "model": {"name": "ogg_json"},
        "log": lambda text, info: said.append(text) or "",
    }
    macros = ENVIRONMENT.from_string(TEXTS).make_module(known)
    given = {"has": ["ddl"], "has_place": "true"}
    assert macros.outcomes("given", **given) == MACROS.result_rows("given", **given)
    assert MACROS.outcomes("given", without=["ddl"]) == MACROS.result_rows("given", without=["ddl"])
    assert said == [
        "ogg_json: the macro `outcomes` is called `result_rows` now; 0.3.0 removes the former name."
    ]


def test_the_lines_of_a_fixture_are_messages():
    fixture = (
        "{% call messages('canal', 'a.b', first_offset=3, route_key=\"array('id')\") %}\n"
        '{"a":"it\'s","b":"\\u00e9"}\n'
        "\\x00ff\n"
        '{"id":1}\t\\N\n'
        '\\j"two\\nlines"\n'
        "{% endcall %}"
    )
    sql = ENVIRONMENT.from_string(TEXTS + fixture).render(KNOWN)
    assert look_at(f"{sql.strip()}\n")[0] == []
    values = [line.strip().rstrip(",") for line in sql.partition("from values")[2].splitlines()]
    assert values[1:-1] == [
        r"""(3L, cast(null as binary), cast('\u007b"a":"it\'s","b":"\\u00e9"}' as binary))""",
        "(4L, cast(null as binary), X'00ff')",
        """(5L, cast('\\u007b"id":1}' as binary), cast(null as binary))""",
        ["(6L, cast(null as binary), cast('two", "lines' as binary))"][0],
        "lines' as binary))",
    ]
    assert "array('id') as route_key" in sql and "'a.b' as topic" in sql


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """The project as dbt parses it; no Spark is needed for that."""
    home = tmp_path_factory.mktemp("parsed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        patch.setenv("LAKEHOUSE_DIR", str(home / "lake"))
        paths = ["--target-path", str(home / "target"), "--log-path", str(home / "logs")]
        done = dbtRunner().invoke(["--quiet", "parse", *paths])
    assert done.success, done.exception
    return done.result


def test_every_macro_is_reached(manifest):
    """From a model, a page, a test or dbt itself, by calls, dispatches and names passed on."""
    own = {"cdc_lakehouse", "dbt_lakehouse"}
    ours = {key: macro for key, macro in manifest.macros.items() if macro.package_name in own}
    assert len(ours) > len(BLOCKS)
    keys_of = {}
    for key, macro in manifest.macros.items():
        keys_of.setdefault(macro.name, set()).add(key)
    of_dbt = {macro.name for macro in manifest.macros.values() if macro.package_name not in own}

    def calls(depends_on, text):
        names = meta.find_undeclared_variables(get_environment().parse(text))
        return {*depends_on}.union(*(keys_of.get(name, ()) for name in names))

    reached, waiting = set(), set()
    # dbt gives a unit test the materialization `unit`.
    for materialized in {"unit"}.union(
        node.config.materialized for node in manifest.nodes.values()
    ):
        waiting |= keys_of.get(f"materialization_{materialized}_lakehouse", set())
    for node in manifest.nodes.values():
        waiting |= calls(node.depends_on.macros, node.raw_code)
    for test in manifest.unit_tests.values():
        for given in test.given:
            waiting |= calls([], given.rows)
    waiting |= {key for name in FORMER_NAMES | OTHER_NAMES for key in keys_of[name]}
    # What only models of a user call stands in a model that a page shows.
    for page in sorted((PROJECT / "docs").glob("*.md")):
        for text in re.findall(r"^```sql\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            waiting |= calls([], text)
            for materialized in re.findall(r"materialized='(\w+)'", text):
                waiting |= keys_of.get(f"materialization_{materialized}_lakehouse", set())
        # Tests that the YAML of a page gives to a model.
        for text in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            for name in re.findall(r"\w+", text):
                waiting |= keys_of.get(f"test_{name}", set()) & ours.keys()
    for key, macro in ours.items():
        # dbt looks for an override by its name, or by its name with the adapter's before it.
        name = macro.name.removeprefix("lakehouse__")
        if {name, f"default__{name}", f"spark__{name}"} & of_dbt:
            waiting.add(key)
    while waiting:
        key = waiting.pop()
        reached.add(key)
        macro = manifest.macros[key]
        found = calls(macro.depends_on.macros, macro.macro_sql)
        waiting |= {other for other in found if other in ours} - reached
    assert sorted(ours.keys() - reached) == []
