"""Messages with the traits of public bug reports become what their vendors' documents say.

`public_reports/reports.json` holds them: small inputs of our own, each with the report whose trait
it has. `file` is the text of a line file, `messages` are keys and values that no text file can
carry, in Base64. `expected` says per message and row what silver has to hold in the columns that it
names, `gold` what the table is in gold, values as text; `any_of` leaves a choice. All of it was
written from the documents before anything was run.
"""

import json
from base64 import b64decode
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from shop import as_text, write_messages

from cdc_lakehouse.add_table import Gold, find_table, seen_tables

REPORTS = json.loads(
    Path(__file__).with_name("public_reports").joinpath("reports.json").read_text()
)
NAMES = [report["name"] for report in REPORTS]
WITH_GOLD = [report for report in REPORTS if "gold" in report]


def add_routes(project):
    topics = project / "seeds" / "topics.csv"
    routes = "".join(f"{report['name']},{report['route']}\n" for report in REPORTS)
    topics.write_text(topics.read_text() + routes)


def land(folder):
    """Write each report's messages below a landing folder."""
    for report in REPORTS:
        name, path = report["name"], folder / report["name"]
        if "file" in report:
            path.mkdir(parents=True)
            (path / "messages.jsonl").write_bytes(report["file"].encode())
            continue
        rows = [(name, 0, n, decoded(m["value_base64"])) for n, m in enumerate(report["messages"])]
        write_messages(path / "messages.parquet", rows)
        keys = [decoded(message["key_base64"]) for message in report["messages"]]
        table = pq.read_table(path / "messages.parquet")
        place = table.schema.get_field_index("key")
        pq.write_table(table.set_column(place, "key", [keys]), path / "messages.parquet")


def decoded(text):
    return None if text is None else b64decode(text)


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("reports", change=add_routes)
    land(tmp_path_factory.getbasetemp() / "reports-landing")
    lakehouse.ingest(tmp_path_factory.getbasetemp() / "reports-landing")
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", "events", "row_images", "source_columns")
    tables, gold = lakehouse.process.submit(_seen).result(), Gold(lakehouse.project)
    for report in WITH_GOLD:
        wanted = report["gold"]
        named = ".".join(f"`{name}`" for name in wanted["table"].split("."))
        key = [wanted["key"]] if "key" in wanted else None
        gold.add(find_table(tables, named), key=key, name=report["name"])
        if "config" in wanted:
            (model,) = lakehouse.project.glob(f"models/gold/*/{report['name']}.sql")
            config = f"{{{{ config({wanted['config']}) }}}}\n\n"
            model.write_text(config + model.read_text())
    lakehouse.dbt("run", "-s", *(report["name"] for report in WITH_GOLD))
    return lakehouse


def _seen():
    from dbt.adapters.lakehouse.connections import root_session

    return seen_tables(root_session({}).newSession())


@pytest.fixture(scope="module")
def outcomes(lakehouse):
    """Return the rows of silver.events by topic and offset."""
    rows = lakehouse.query("select * from silver.events order by topic, offset, row_number")
    found = {}
    for row in rows:
        found.setdefault(row["topic"], {}).setdefault(row["offset"], []).append(row)
    return found


def agrees(found, expected):
    if isinstance(expected, dict) and set(expected) == {"any_of"}:
        return any(agrees(found, choice) for choice in expected["any_of"])
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(
            agrees(found[name], value) for name, value in expected.items()
        )
    return found == expected


@pytest.mark.parametrize("report", REPORTS, ids=NAMES)
def test_messages_with_the_trait_become_what_the_document_says(outcomes, report):
    found = outcomes[report["name"]]
    assert sorted(found) == list(range(len(report["expected"])))
    for offset, rows in enumerate(report["expected"]):
        assert len(found[offset]) == len(rows), found[offset]
        for row, sought in zip(found[offset], rows, strict=True):
            seen = {name: row[name] for name in sought}
            assert all(agrees(seen[name], sought[name]) for name in sought), (offset, seen, row)


@pytest.mark.parametrize("report", WITH_GOLD, ids=lambda report: report["name"])
def test_gold_is_the_table_of_the_source(lakehouse, report):
    gold = report["gold"]
    rows = lakehouse.query(f"select * from gold.{report['name']}")
    assert len(rows) == len(gold["rows"]), rows
    for sought in gold["rows"]:
        found = [{name: as_text(row[name.lower()]) for name in sought} for row in rows]
        assert sought in found
    if "problems" in gold:
        assert [p["column"] for row in rows for p in row["_problems"]] == gold["problems"]
