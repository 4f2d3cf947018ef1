"""Every format has a unit test for every scenario, or says on its page why it has none."""

import json
import re
from pathlib import Path

import pytest
import yaml
from conftest import PROJECT
from dbt.cli.main import dbtRunner
from encoders import ENCODERS
from silver_models import FORMATS, TWINS

SILVER = PROJECT / "models" / "silver"
FOLDERS = sorted(path.name for path in SILVER.iterdir() if path.is_dir())
LISTED = (PROJECT / "macros" / "formats.sql").read_text()
SCENARIOS = {
    *("insert", "update", "partial_update", "key_change", "delete", "truncate", "snapshot"),
    *("transaction", "ddl", "heartbeat", "multi_row", "sequence", "route"),
    *("null_field", "unicode", "big_number", "every_type"),
    *("unknown_operation", "malformed", "missing_table", "wrong_type", "duplicate_keys"),
}


def unit_tests(name, silver=SILVER):
    """Return the scenarios that have a unit test."""
    tests = yaml.safe_load((silver / name / f"_{name}.yml").read_text())["unit_tests"]
    model = TWINS.get(name, name)
    return {test["name"].partition("__")[2] for test in tests if test["model"] == model}


def excuses(name, silver=SILVER):
    """Return {scenario: reason} of the lines `**No test of** a, b: reason.` of a format's page."""
    page = (silver / name / f"_{name}.md").read_text()
    lines = re.findall(r"^\*\*No test of\*\* ([a-z_, ]+): (.*)\.$", page, re.MULTILINE)
    return {scenario: reason for names, reason in lines for scenario in names.split(", ")}


def test_every_format_is_read_by_its_model():
    """`events` unites the formats of the list; `unrouted` is for all that it does not name."""
    assert re.findall(r"^ +'([a-z_]+)',$", LISTED, re.MULTILINE) == FORMATS == FOLDERS
    models = {path.parent.name for path in SILVER.glob("*/*.sql")}
    assert models == {*FOLDERS} - {*TWINS}
    for model in ("events", "unrouted"):
        assert "formats()" in (SILVER / f"{model}.sql").read_text()


def test_every_format_is_written_by_an_encoder_and_has_its_row_for_readers():
    """An encoder: the format takes part in test_formats_agree and other tests of all formats."""
    assert sorted(ENCODERS) == FOLDERS
    for page, folder in (("README.md", ""), ("docs/formats.md", "../")):
        text = (PROJECT / page).read_text()
        links = [f"[{name}]({folder}models/silver/{name}/_{name}.md)" for name in FOLDERS]
        assert [link for link in links if link not in text] == []


@pytest.mark.parametrize("name", FOLDERS)
def test_every_scenario_is_tested_or_excused(name):
    tested, excused = unit_tests(name), excuses(name)
    if name in TWINS:
        assert "insert" in tested
        return
    assert SCENARIOS - tested - set(excused) == set()
    assert tested & set(excused) == set(), "tested, and excused as well"
    assert all(len(reason.split()) >= 3 for reason in excused.values()), excused


@pytest.mark.parametrize("name", FOLDERS)
def test_every_fixture_is_used(name):
    text = (SILVER / name / f"_{name}.yml").read_text()
    unused = [
        path.name
        for path in Path(PROJECT, "tests", "fixtures", name).glob("*.sql")
        if not re.search(rf"\b{path.stem}\b", text)
    ]
    assert unused == []


def test_the_scheduled_command_leaves_out_unit_tests_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    paths = ["--target-path", str(tmp_path / "target"), "--log-path", str(tmp_path / "logs")]
    output = ["--quiet", "ls", *paths, "--output", "json", "--output-keys", "resource_type name"]
    listed = {}
    for name, options in {"all": [], "scheduled": ["--selector", "scheduled"]}.items():
        rows = map(json.loads, dbtRunner().invoke([*output, *options]).result)
        listed[name] = {(row["resource_type"], row["name"]) for row in rows}

    left_out = listed["all"] - listed["scheduled"]
    assert {kind for kind, _ in left_out} == {"unit_test"}
    assert {kind for kind, _ in listed["scheduled"]} == {"model", "seed", "source", "test"}
    assert "dbt build --selector scheduled" in Path(PROJECT, "docs", "commands.md").read_text()
