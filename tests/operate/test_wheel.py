"""A project of a user: `lakehouse init` of an installed wheel, outside of the checkout."""

import csv
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from io import StringIO
from pathlib import Path

import acme
import pytest
from conftest import PROJECT
from installed import Environment, build_wheel
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_scenarios import SCENARIOS

from cdc_lakehouse.console.commands.init import make_project, project_name
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.source_tables import SourceTable
from cdc_lakehouse.package import PACKAGE, RELEASE, has_silver, sources
from cdc_lakehouse.routes import formats
from cdc_lakehouse.runtime import jars
from cdc_lakehouse.runtime.functions import open_package, register_functions
from cdc_lakehouse.runtime.jars import FOLDER

pytestmark = pytest.mark.full

TYPES = {"id": "int", "status": "varchar(16)", "total": "decimal(10,2)"}


def canal(number, operation, row, old=None):
    """Return a message of Canal about one row of shop.orders, as a line."""
    return json.dumps(
        {
            **{"id": number, "database": "shop", "table": "orders", "pkNames": ["id"]},
            **{"isDdl": False, "type": operation, "es": 1669000000000 + number, "ts": 0, "sql": ""},
            **{"mysqlType": TYPES, "data": [row], "old": old and [old]},
        }
    )


def rows(said, line):
    """Return the rows that a query with --csv has printed after `line`."""
    printed = said.partition(f"$ {line}\n")[2].partition("\n$ ")[0]
    return list(csv.DictReader(StringIO(printed)))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    return Environment(folder / "venv", build_wheel(folder, "90.1.0"))


@pytest.fixture(scope="module")
def shop(environment, tmp_path_factory):
    """The folder of a project that the installed command has made."""
    folder = tmp_path_factory.mktemp("user")
    done = environment.lakehouse("init", "shop", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "cd shop\n" in done.stdout
    return folder / "shop"


def land(shop, topic, name, lines):
    """Write a file of messages into the landing folder beside a project."""
    folder = shop.parent / "landing" / topic
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")


INGEST = "lakehouse ingest files ../landing"
BUILD = "dbt build"
ORDERS = 'lakehouse query --csv "select id, status, total from gold.orders order by id"'
CUSTOMERS = 'lakehouse query --csv "select id, name from gold.customers order by id"'


@pytest.mark.long
def test_a_project_of_a_user_goes_from_topics_to_gold(environment, shop):
    """Of two topics; one has a format of the user's own, begun by `lakehouse add-format`."""
    done = environment.lakehouse("add-format", "acme_json", cwd=shop)
    assert done.returncode == 0, done.stderr
    acme.fill_in(shop)
    with open(shop / "seeds" / "topics.csv", "a") as topics:
        topics.write("shop.orders,canal,,,,\ncrm.customers,acme_json,,,,\n")
    orders = [
        canal(1, "INSERT", {"id": "1", "status": "new", "total": "10.50"}),
        canal(2, "INSERT", {"id": "2", "status": "new", "total": "7.00"}),
        canal(3, "UPDATE", {"id": "1", "status": "paid", "total": "10.50"}, {"status": "new"}),
    ]
    customers = [
        acme.message(14, "D", was={"id": 2, "name": "Bo"}),
        acme.message(11, "I", now={"id": 1, "name": "Ann"}),
        acme.message(13, "U", was={"id": 1}, now={"id": 1, "name": "Anna"}),
        acme.message(12, "I", now={"id": 2, "name": "Bo"}),
        acme.message(9, "I", now={"id": 3, "name": "Cy"}),
    ]
    land(shop, "shop.orders", "1.jsonl", orders)
    land(shop, "crm.customers", "1.jsonl", customers)
    said = environment.type(
        *("dbt test -s acme_json", INGEST, BUILD, "lakehouse add-table --all", BUILD),
        *(ORDERS, CUSTOMERS),
        cwd=shop,
    )
    assert "shop.orders: models/gold/shop/orders.sql and _shop.yml, 3 columns, key id" in said
    assert rows(said, ORDERS) == [
        {"id": "1", "status": "paid", "total": "10.50"},
        {"id": "2", "status": "new", "total": "7.00"},
    ]
    assert rows(said, CUSTOMERS) == [{"id": "1", "name": "Anna"}, {"id": "3", "name": "Cy"}]
    tested = set(re.findall(r"PASS acme_json::acme_json__(\w+)", said))
    assert tested == SCENARIOS - {"multi_row"}


@pytest.mark.long
def test_the_project_goes_on_through_an_upgrade(environment, shop, tmp_path):
    files = {path: path.read_bytes() for path in shop.rglob("*") if _is_of_user(shop, path)}
    environment.install(build_wheel(tmp_path, "90.2.0"))
    assert environment.lakehouse("--version", cwd=shop).stdout == "lakehouse 90.2.0\n"
    more = [
        canal(4, "DELETE", {"id": "2", "status": "new", "total": "7.00"}),
        canal(5, "INSERT", {"id": "3", "status": "new", "total": "99999999.99"}),
    ]
    land(shop, "shop.orders", "2.jsonl", more)
    land(shop, "crm.customers", "2.jsonl", [acme.message(10, "U", now={"id": 1, "name": "Al"})])
    problems = 'lakehouse query --csv "select * from gold.gold_problems"'
    said = environment.type(INGEST, BUILD, ORDERS, CUSTOMERS, problems, cwd=shop)
    assert rows(said, ORDERS) == [
        {"id": "1", "status": "paid", "total": "10.50"},
        {"id": "3", "status": "new", "total": "99999999.99"},
    ]
    assert rows(said, CUSTOMERS) == [{"id": "1", "name": "Anna"}, {"id": "3", "name": "Cy"}]
    assert rows(said, problems) == []
    assert {path: path.read_bytes() for path in files} == files


def _is_of_user(shop, path):
    made = (".lakehouse", "target", "logs")
    return path.is_file() and path.relative_to(shop).parts[0] not in made


@pytest.mark.long
def test_the_wheel_brings_what_it_needs(tmp_path, monkeypatch):
    """Into an empty environment, without constraints; with a column that a Python function hashes.

    The environment knows this checkout by nothing, and the project's folder has no udfs/.
    """
    key = "a key of the hash for tests, 32 and more"
    monkeypatch.setenv("LAKEHOUSE_HASH_KEY", key)
    wheel = build_wheel(tmp_path, "90.3.0")
    environment = Environment(tmp_path / "venv", wheel, resolves=True)
    done = environment.lakehouse("init", "shop", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shop = tmp_path / "shop"
    with open(shop / "seeds" / "topics.csv", "a") as topics:
        topics.write("shop.orders,canal,,,,\n")
    protected = "database,schema,table,column,method,layer\nshop,,orders,status,hash,silver\n"
    (shop / "seeds" / "protected_columns.csv").write_text(protected)
    rows_sent = [{"id": str(number), "status": "paid", "total": "1.5"} for number in (1, 2)]
    land(shop, "shop.orders", "1.jsonl", [canal(int(r["id"]), "INSERT", r) for r in rows_sent])
    run, show = "lakehouse run files ../landing --test", "lakehouse show gold.orders"
    said = environment.type(run, "lakehouse add-table --all", run, ORDERS, show, cwd=shop)
    hashed = hmac.digest(key.encode(), b"paid", "sha256").hex()
    assert rows(said, ORDERS) == [
        {"id": number, "status": hashed, "total": "1.50"} for number in ("1", "2")
    ]
    assert hashed[:10] in said.partition(f"$ {show}\n")[2]


def test_what_is_installed_knows_its_release_and_has_its_pages(environment, shop):
    assert environment.lakehouse("--version", cwd=shop).stdout == "lakehouse 90.1.0\n"
    assert (shop / "requirements.txt").read_text() == "cdc_lakehouse==90.1.0\n"
    listed = environment.lakehouse("help", cwd=shop).stdout
    assert "\nModel gold:\n  gold            Gold models\n" in listed
    # Each page that the project's README names, and how to upgrade.
    named = re.findall(r"lakehouse help (\w+)", (shop / "README.md").read_text())
    assert {"formats", "protection", "upgrading"} <= set(named)
    for page in sorted({*named}):
        done = environment.lakehouse("help", page, cwd=shop)
        assert done.stdout.startswith("# "), done.stderr


def test_the_release_is_the_same_everywhere():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    attribute = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "cdc_lakehouse.package.RELEASE"
    for path in ("dbt_project.yml", "src/dbt/include/lakehouse/dbt_project.yml"):
        assert f"\nversion: {RELEASE}\n" in (PROJECT / path).read_text()
    changes = (PROJECT / "CHANGELOG.md").read_text()
    released = re.findall(r"(?m)^## (\d+\.\d+\.\d+)", changes)
    assert released[0] == RELEASE
    for text in re.split(r"(?m)^## (?=\d)", changes)[1:-1]:  # all but the first release
        assert "### What an upgrade does\n" in text


def test_the_wheel_asks_for_what_the_tests_have():
    """constraints.txt does not reach users: what pip may take for them has to have been tried."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    pins = dict(
        line.split("==") for line in (PROJECT / "constraints.txt").read_text().split() if line
    )
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    asked = [Requirement(text) for text in project["dependencies"]]
    assert {each.name: pins[canonicalize_name(each.name)] in each.specifier for each in asked} == {
        each.name: True for each in asked
    }
    (dbt,) = (each for each in asked if each.name == "dbt-core")
    # It needs dbt-core-experimental-parser, whose installation downloads from a code host.
    assert not any(version in dbt.specifier for version in ("1.12.0", "1.12.6", "1.13.0"))


def test_init_writes_into_no_folder_that_has_something(environment, shop):
    done = environment.lakehouse("init", str(shop), cwd=shop.parent)
    assert done.returncode == 2
    assert done.stderr == (
        f"lakehouse: {shop} is not empty. Name a folder that is not there yet, or an empty one.\n"
    )


def test_pip_user_has_its_jars_where_it_may_write(tmp_path):
    """Not in the folder of the system's Python, which is root's."""
    environ = os.environ | {"PYTHONUSERBASE": str(tmp_path)}
    ask = "import site; print(site.getusersitepackages())"
    packages = _python(ask, environ)
    shutil.copytree(PACKAGE.parent, Path(packages, "cdc_lakehouse"), symlinks=True)
    ask = "from cdc_lakehouse.runtime.jars import FOLDER; print(FOLDER)"
    folder = _python(ask, environ | {"PYTHONPATH": packages})
    assert folder == str(tmp_path / "share" / "cdc_lakehouse" / "jars")
    assert str(FOLDER) == f"{sys.prefix}/share/cdc_lakehouse/jars"


def test_an_upgrade_that_needs_other_jars_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(jars, "FOLDER", tmp_path)
    (tmp_path / "delta-1.0.jar").touch()
    assert jars.installed_jars() == [tmp_path / "delta-1.0.jar"]
    monkeypatch.setattr(jars, "retrieve", lambda *given: "")
    assert jars.fetch_jars() == [tmp_path / "delta-1.0.jar"]
    older = (tmp_path / "jars.xml").read_text().replace("4.", "3.")
    (tmp_path / "jars.xml").write_text(older)
    with pytest.raises(LakehouseError, match="jars of another version of cdc_lakehouse"):
        jars.installed_jars()
    assert jars.fetch_jars() == [tmp_path / "delta-1.0.jar"]
    monkeypatch.setattr(jars, "version", {"delta-spark": "9.9"}.__getitem__)
    with pytest.raises(LakehouseError, match="or of delta-spark"):
        jars.installed_jars()


def _python(text, environ):
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_init_takes_an_empty_folder_and_none_of_a_file_or_a_name_that_dbt_has(tmp_path):
    (tmp_path / "my-shop").mkdir()
    make_project(tmp_path / "my-shop")
    assert "name: my_shop\n" in (tmp_path / "my-shop" / "dbt_project.yml").read_text()
    (tmp_path / "file").touch()
    with pytest.raises(LakehouseError, match="file is not empty"):
        make_project(tmp_path / "file")
    for name in ("cdc_lakehouse", "cdc-lakehouse", "dbt", "dbt_spark", "2026", "店"):
        with pytest.raises(LakehouseError, match="cannot be named after the folder"):
            make_project(tmp_path / name)
        assert not (tmp_path / name).exists()
    assert project_name("Shop 2") == "shop_2"


def test_a_project_of_a_user_has_the_package_beside_its_own_files(tmp_path):
    shop = tmp_path / "shop"
    make_project(shop)
    assert sources(shop) == [PACKAGE, shop]
    assert not has_silver(shop)
    for folder in ("models/silver/mongo", "models/silver/common", "udfs"):
        (shop / folder).mkdir(parents=True)
    (shop / "models" / "silver" / "mongo" / "mongo.sql").touch()
    (shop / "models" / "silver" / "common" / "helper.sql").touch()
    assert set(formats(shop)) - {"mongo"} == set(formats(tmp_path))
    assert "mongo" in formats(shop)
    assert "common" not in formats(shop)

    assert open_package(shop) == [PACKAGE / "udfs", shop / "udfs"]
    (shop / "udfs" / "mongo.py").write_text("from udfs import ddl\n")
    from udfs import mongo

    assert mongo.ddl.__file__ == str(PACKAGE / "udfs" / "ddl.py")
    (shop / "udfs" / "_avro.py").touch()
    with pytest.raises(LakehouseError, match=r"shop/udfs/_avro.py has the name of a file of cdc_"):
        register_functions(None, shop)


def test_add_table_gives_no_model_the_name_of_one_in_the_package(tmp_path):
    shop = tmp_path / "shop"
    make_project(shop)
    events = SourceTable("crm", None, "events", ("id",), {"id": ("int", "int")}, ("id",))
    written = Gold(shop).add(events)
    assert written.startswith("crm.events: models/gold/crm/crm__events.sql and _crm.yml")
    assert (
        "        ref('crm__events'),\n    ]"
        in (shop / "models" / "gold" / "gold_problems.sql").read_text()
    )
