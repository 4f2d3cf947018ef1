"""`lakehouse add-format`: what it writes is whole, and says why where it cannot be written."""

import json
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO

import pytest
from conftest import PROJECT
from dbt.cli.main import dbtRunner
from test_scenarios import SCENARIOS, excuses, unit_tests

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.commands.add_format import FEWEST, with_format, write_format
from cdc_lakehouse.console.commands.init import make_project
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import formats

LIST = (PROJECT / "macros" / "formats.sql").read_text()


@pytest.fixture
def shop(tmp_path):
    make_project(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def checkout(tmp_path):
    """What `add-format` sees of this repository."""
    for name in ("macros", "models"):
        shutil.copytree(PROJECT / name, tmp_path / "checkout" / name)
    shutil.copy(PROJECT / "dbt_project.yml", tmp_path / "checkout")
    return tmp_path / "checkout"


def test_the_files_have_a_test_or_an_excuse_for_every_scenario(checkout):
    """As test_scenarios asks of the formats that are there."""
    write_format(checkout, "zeta_json")
    silver = checkout / "models" / "silver"
    tested, excused = unit_tests("zeta_json", silver), excuses("zeta_json", silver)
    assert tested | set(excused) == SCENARIOS
    assert not tested & set(excused)
    fixtures = checkout / "tests" / "fixtures" / "zeta_json"
    assert {path.name for path in fixtures.iterdir()} == {f"zeta_json__{s}.sql" for s in tested}
    written = [*(silver / "zeta_json").iterdir(), *fixtures.iterdir()]
    assert not [path for path in written if "my_format" in f"{path} {path.read_text()}"]


def test_the_name_gets_its_place_in_the_list(checkout):
    write_format(checkout, "dts_xml")
    listed = (checkout / "macros" / "formats.sql").read_text()
    before = "        'dts_shareplex',\n"
    assert listed == LIST.replace(before, f"{before}        'dts_xml',\n")
    assert formats(checkout) == sorted({*formats(PROJECT), "dts_xml"})


def test_the_list_of_a_new_project_takes_names_in_order(shop):
    path = shop / "macros" / "formats.sql"
    empty = path.read_text()
    for name in ("zeta", "alpha"):
        path.write_text(with_format(path.read_text(), name))
    names = "        'alpha',\n        'zeta',\n"
    assert path.read_text() == empty.replace("return([\n", f"return([\n{names}")
    assert with_format("{{ return(['a', 'b']) }}", "c") is None


def test_a_format_that_is_added_later_is_read_by_events(shop, tmp_path, monkeypatch):
    """dbt parses again what the list of formats changes, though no file of its own has changed."""
    monkeypatch.chdir(shop)
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    listing = ["--quiet", "ls", "--output", "json", "--output-keys", "depends_on", "-s", "events"]

    def read_by_events():
        [line] = dbtRunner().invoke([*listing, "--resource-type", "model"]).result
        return set(json.loads(line)["depends_on"]["nodes"])

    before = read_by_events()
    assert "model.cdc_lakehouse.canal" in before
    with redirect_stdout(StringIO()) as out:
        assert cli.main(["add-format", "acme_json", "--json"]) == 0
    written = json.loads(out.getvalue())["files"]
    assert written[-1] == "macros/formats.sql" and all((shop / path).exists() for path in written)
    assert read_by_events() - before == {"model.shop.acme_json"}


def test_a_format_may_begin_with_the_fewest_tests(shop, tmp_path, monkeypatch):
    written = write_format(shop, "acme_json", is_minimal=True)
    fixtures = [f"tests/fixtures/acme_json/acme_json__{each}.sql" for each in sorted(FEWEST)]
    assert [path for path in written if "fixtures" in path] == fixtures
    assert unit_tests("acme_json", shop / "models" / "silver") == set(FEWEST)
    whole = write_format(shop, "other_json")
    assert len(whole) - len(written) == 21 - 4
    # dbt finds a fixture for each test, and a test for each fixture.
    monkeypatch.chdir(shop)
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    listed = dbtRunner().invoke(["--quiet", "ls", "-s", "acme_json,test_type:unit"]).result
    assert {each.rpartition("__")[2] for each in listed} == set(FEWEST)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Acme", "'Acme' is no name for a format. Use lower-case letters, digits and _, a letter"),
        ("2x", "'2x' is no name for a format."),
        ("canal", r"The name canal is taken, it is that of .*models/silver/canal/canal\.sql"),
        ("events", r"The name events is taken, it is that of .*models/silver/events\.sql"),
        ("gold_problems", r"is taken, it is that of .*models/gold/gold_problems\.sql"),
    ],
)
def test_a_name_that_a_format_cannot_have_is_refused(shop, name, said):
    with pytest.raises(LakehouseError, match=said):
        write_format(shop, name)


def test_nothing_is_written_where_not_all_can_be(shop):
    left = shop / "tests" / "fixtures" / "acme" / "acme__insert.sql"
    left.parent.mkdir(parents=True)
    left.touch()
    files = sorted(shop.rglob("*"))
    with pytest.raises(LakehouseError, match=re.escape(f"{left} is there already. Nothing was w")):
        write_format(shop, "acme")
    (shop / "macros" / "formats.sql").write_text("{{ return(['a']) }}")
    with pytest.raises(LakehouseError, match="has no list in which each name has a line of its"):
        write_format(shop, "beta")
    (shop / "macros" / "formats.sql").unlink()
    with pytest.raises(LakehouseError, match="cannot be read: No such file or directory"):
        write_format(shop, "beta")
    assert sorted(shop.rglob("*")) == [f for f in files if f.name != "formats.sql"]
