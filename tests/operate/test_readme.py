"""Every command of README and its pages runs after `make run`, or stands here with a reason."""

import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest
import yaml
from conftest import PROJECT

pytestmark = pytest.mark.full

DOCS = ("start", "commands", "running", "kafka", "tables", "gold")
NAMES = ("README.md", *(f"docs/{name}.md" for name in DOCS))
PAGES = [(PROJECT / name).read_text() for name in (*NAMES, "CONTRIBUTING.md")]
README, START, *_, CONTRIBUTING = PAGES
BLOCK_OR_SPAN = re.compile(r"^```(\w*)\n(.*?)^```$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:lakehouse|dbt|make|pytest|pip|export|\.|select) \S")
HELD_ELSEWHERE = {
    ". .venv/bin/activate": "sets PATH, which the tests have",
    "make run": "its recipe is what the commands here run after",
    "make setup": "made the environment of the tests",
    "make test": "runs this test",
    "make test-all": "runs `make test` and what is marked `full`",
    "make timings": "runs the tests that `make test-all` runs",
    "make lint": "part of `make test`",
    "make lint-formats": "part of `make test-all`",
    "make soak": "takes hours",
    "pytest tests/gold/test_gold.py -k truncate": "a test of its own",
    "pytest tests/silver/test_formats_agree.py": "a test of its own",
    "dbt build": "does what `dbt build --selector scheduled` does",
    "lakehouse backfill FOLDER": "needs an archive; test_backfill makes some",
    "lakehouse ingest snapshot --table shop.orders FILE": "test_extracts lands one",
    "lakehouse report --open": "starts a browser; without that it is typed",
    "lakehouse sync": "writes models; test_sync_lakehouse types it",
    "lakehouse serve": "stays up; test_serve types it",
    "select * from {{ row_images('shop_*.orders_*', 'archive.`orders.old`') }}\n":
        "a part of a model; test_source_tables has such patterns",
    "lakehouse erase shop_a.orders_01 --key id=1": "test_sharded_tables erases such a row",
    "make docs": "test_docs_site and test_pages type its recipe",
    "dbt docs generate --static --target docs": "part of that recipe",
    "pip install cdc_lakehouse": "test_wheel installs it, and types the next two there",
    "lakehouse init shop": "test_wheel types it",
    "lakehouse init shop && cd shop": "needs the package in an environment of its own",
    "echo 'shop.orders,debezium_json,,,,' >> seeds/topics.csv": "in that project",
    "lakehouse run kafka --bootstrap-servers broker:9092 --subscribe shop.orders": "needs Kafka",
    "lakehouse add-table shop.orders && dbt run -s orders": "in that project, as test_wheel does",
    'lakehouse query "select * from gold.orders"': "in that project",
    "export KUSER=reader KPASSWORD=...": "needs Kafka, as the next two; test_ingest_kafka has it",
    "lakehouse ingest kafka --bootstrap-servers broker:9092 --subscribe shop.orders,shop.customers":
        "needs Kafka",
    r"lakehouse ingest kafka --bootstrap-servers broker:9093 --subscribe-pattern 'shop\..*'"
    " --option kafka.security.protocol=SASL_SSL --option kafka.sasl.mechanism=SCRAM-SHA-512"
    " --options-file kafka.properties": "needs Kafka",
}  # fmt: skip
# The model that the first page shows.
MODEL = re.search(r"^```sql\n(.*?)^```$", START, re.MULTILINE | re.DOTALL)[1]
# After `lakehouse erase` its commits are new, and none of them is a change.
NOTHING_NEW = r"^gold\.orders: (nothing new since commit|has read commit.*, which change nothing)"
# What each command has to print: patterns, in any order.
SAYS = {
    "lakehouse run files samples/landing": ["Nothing to land", "Completed successfully"],
    "lakehouse ingest files samples/landing": ["11 files found, 0 of them new"],
    "dbt build --selector scheduled": ["Completed with 5 warnings", "ERROR=0"],
    "lakehouse add-table inventory.products2": [
        r"^inventory\.products2: models/gold/inventory/products2\.sql and _inventory\.yml, 5 col"
    ],
    "lakehouse show gold.orders": [r"^1003 +3 shipped +310\.25 CNY", r"^2005 +5 cancelled +0\.10"],
    "lakehouse show": [
        r"^bronze 1[56]\d messages, silver 1[78]\d events, gold [0-9,]+ rows$",
        r"^shop\.orders +53 +1  2026-11-11 08:00:00$",
        r"^gold\.orders +10  2026-11-11 08:00:00$",
        r"^A table:  lakehouse show gold\.customers$",
    ],
    "dbt show -s dts_canal": [r"\| shop\.orders .*\| dts_canal \| row_change"],
    'lakehouse query "select * from silver.message_accounting"': [
        r"^crm\.customers +0 +37 +33 ",
        r"^legacy\.audit +0 +2 +0 ",
    ],
    "lakehouse report": [
        r"/report\.html: \d+ things to look at$",
        r"^gold is as of \d\d:\d\d UTC, .*\d of \d tables built.*, \d+ messages rejected$",
    ],
    "lakehouse check": [
        r"^rejected_share  4 topics  5 of 97 messages are rejected in 4 topics \(5\.15%, limit 0",
        r"^problems  orders  1 problem with values, keys or rules: shipped_at ",
    ],
    "lakehouse wait --source shop.orders": [
        r"^shop\.orders: gold is complete until 2026-11-11 07:59:59\.999999 UTC\.$"
    ],
    "lakehouse plan gold.orders": [NOTHING_NEW],
    "lakehouse contract gold.orders": [
        r"^apiVersion: v3\.0\.2$",
        r"^  physicalName: gold\.orders$",
    ],
    "lakehouse lineage": [
        r'^\{"eventType": "START", ',
        r'^\{"eventType": "COMPLETE", .*"name": "gold\.orders", .*"total": \{"inputFields": '
        r'\[\{"namespace": "cdc_lakehouse\.source", "name": "shop\.orders", "field": "total", ',
    ],
    "lakehouse timings": [
        r"^ingest files, 20.* s, of which",
        r"^dbt build, 20.* s, of which",
        r"^events +[0-9]",
    ],
    "lakehouse help": [r"^  protection +Protecting columns$", "`lakehouse help PAGE` prints one"],
    "lakehouse help gold": [r"^# Gold models$"],
    "lakehouse reroute": ["Nothing to reroute"],
    "lakehouse stop": ["No Spark is kept"],
    "lakehouse replay --reason not_avro": [r"^shop\.payments +not_avro +dts_avro +1$"],
    "dbt run": ["Completed successfully", r"OK created sql current_state model gold\.products2 "],
    "lakehouse maintain": [r"^bronze\.messages ", r"^gold_storage\.orders_history "],
    "lakehouse erase crm.customers --key id=5": [
        r"^bronze\.messages: 4 rows were removed",
        r"^gold_storage\.customers: 1 rows removed",
        "The erasure is complete",
    ],
    "lakehouse expire --older-than '400 days'": ["Nothing to drop"],
    MODEL: ["Previewing inline node", r"\| shop\.orders +\|"],
    # CONTRIBUTING
    "lakehouse plan gold.orders --sql": [NOTHING_NEW, r"^  \d  (ends      nothing new|commits   )"],
    "dbt run -s events": ["Completed successfully"],
    "dbt test -s dts_canal__update": ["1 of 1 PASS dts_canal::dts_canal__update "],
    "lakehouse add-table inventory.parts": [r"parts\.sql and _inventory\.yml, 6 columns, key id$"],
    "lakehouse add-table inventory.parts --history": ["parts_history.sql and _inventory.yml, 6 "],
    "lakehouse add-table db_name.table_name --key col1,col2 --infer": [
        r"table_name\.sql and _db_name\.yml, 15 columns, key col1, col2\. .*inferred from all"
    ],
    "lakehouse add-format ogg_json": [r"^models/silver/ogg_json/ogg_json\.sql$", "21 files"],
    "dbt test -s ogg_json": [r"Done\. PASS=22 WARN=0 ERROR=0 "],
    "dbt test -s ogg_json__update": [r"1 of 1 PASS ogg_json::ogg_json__update "],
    "dbt show -s ogg_json": [r"\| topic +\|"],
    "lakehouse add-table --all": [r"^dbname\.tablename: models", r"^mydb\.t1: models"],
}  # fmt: skip


def commands(text):
    """Return the commands of a page, each once, in the order in which they stand there."""
    found = []
    for tag, block, span in BLOCK_OR_SPAN.findall(text):
        if tag == "sh":
            found += re.sub(r"\s*\\\n\s*", " ", block).splitlines()
        elif tag == "sql":
            found.append(block)
        elif COMMAND.match(span):
            found += span.split(" && ")
    return list(dict.fromkeys(re.sub(r"\s+# .*", "", line) for line in found))


TYPED = [line for page in PAGES for line in commands(page)]
COMMANDS = [line for line in TYPED if line not in HELD_ELSEWHERE]
EXIT_CODES = {"lakehouse check": 1}  # of those that do not end with 0
# Each with a test of its own; here half a minute for a few words.
LONG = ("lakehouse maintain", "lakehouse erase crm.customers --key id=5")


def _type(line):
    """Run a command in the process of the lakehouse; return its exit code and what it prints."""
    from dbt.cli.main import dbtRunner

    from cdc_lakehouse.console import cli
    from dbt.adapters.lakehouse import connections

    if line == MODEL:
        program, arguments = "dbt", ["show", "--inline", line]
    else:
        program, *arguments = shlex.split(line)
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        if program == "dbt":
            code = 0 if dbtRunner().invoke(arguments).success else 1
        else:
            connections.root_session({})
            connections._held.close()  # as dbt does where it ends
            code = cli.main(arguments)
    return code, out.getvalue()


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse):
    """A lakehouse of a copy of the project, after what `make run` types."""
    lakehouse = open_lakehouse("readme", change=lambda project: None)
    makefile = (PROJECT / "Makefile").read_text()
    recipe = re.search(r"^run:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    for line in re.findall(r"^\t(lakehouse .*)$", recipe, re.MULTILINE):
        code, said = lakehouse.process.submit(_type, line).result()
        assert code == 0, said
    shown = re.search(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]
    assert [text for text in shown.splitlines() if text not in said.splitlines()] == []
    return lakehouse


def test_every_command_is_run_or_held_elsewhere():
    assert set(COMMANDS) == set(SAYS)
    assert set(HELD_ELSEWHERE) <= set(TYPED)


def test_every_block_says_what_it_is():
    for page in PAGES:
        assert {tag for tag, block, _ in BLOCK_OR_SPAN.findall(page) if block} <= {
            *("sh", "sql", "text", "diff", "yaml")
        }


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[pytest.mark.long] * (line in LONG)) for line in COMMANDS]
)
def test_it_does_what_the_page_says(lakehouse, line):
    """The commands follow each other in the order of the pages: none has a lakehouse of its own."""
    code, said = lakehouse.process.submit(_type, line).result()
    assert code == EXIT_CODES.get(line, 0), said
    for pattern in SAYS[line]:
        assert re.search(pattern, said, re.MULTILINE), said


def test_a_model_is_written_as_the_page_shows_it(lakehouse):
    path = "models/gold/inventory/parts.sql"
    shown = re.search(rf"^\+\+\+ {path}\n((?:\+.*\n)+)", CONTRIBUTING, re.MULTILINE)[1]
    assert (lakehouse.project / path).read_text() == re.sub("(?m)^[+]", "", shown)


def test_the_tables_that_were_added_are_built(lakehouse):
    lakehouse.dbt("run", "-s", "products2", "parts", "parts_history", "table_name")
    parts = lakehouse.query("select id, name, size, maker from gold.parts order by id")
    assert [tuple(row.values()) for row in parts] == [
        (1, "bolt M8", "large", None),
        (3, "washer", "small", "Acme"),
    ]


def test_the_example_is_in_the_samples(lakehouse):
    [change] = lakehouse.query(
        "select distinct operation, to_json(before) as before, to_json(after) as after"
        " from silver.events where sequence like '01669000000000000010.%'"
    )
    assert change["operation"] == "update"
    for image in (json.loads(change["before"]), json.loads(change["after"])):
        shown = ", ".join(f"{name}: {image[name]}" for name in ("id", "status", "total"))
        assert f"| {{{shown}}} |" in START
    [torn] = lakehouse.query(
        "select value from silver.rejected_messages"
        " where topic = 'shop.orders' and reject_reason = 'not_json'"
    )
    assert f"\n{bytes(torn['value']).decode()[:36]}\n" in START


def test_the_columns_of_the_views_that_are_asked_most_are_listed():
    files = [yaml.safe_load(p.read_text()) for p in (PROJECT / "models/silver").glob("_*.yml")]
    described = [model for each in files for model in each.get("models", ())]
    columns = {model["name"]: [c["name"] for c in model.get("columns", ())] for model in described}
    page = (PROJECT / "docs/tables.md").read_text().partition("## Their columns")[2]
    listed = dict(re.findall(r"^\| `silver\.(\w+)` \| (.+) \|$", page, re.MULTILINE))
    assert len(listed) == 6
    for view, names in listed.items():
        assert re.findall(r"`(\w+)`", names) == columns[view], view
