"""A project is found from anywhere, and what it names is found from its folder."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import LANDING, PROJECT
from dbt_common.exceptions import DbtRuntimeError
from shop import expected_rows

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime import project
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.runtime.project import find_project, project_folder, use_project
from dbt.adapters.lakehouse import connections

pytestmark = pytest.mark.full


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two projects, one below the other, and a working directory outside of both."""
    for name in ("outer", "outer/inner", "elsewhere"):
        (tmp_path / name).mkdir()
    for name in ("outer", "outer/inner"):
        (tmp_path / name / "dbt_project.yml").touch()
    for name in (*project.VARIABLES, "LAKEHOUSE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(project, "_folder", None)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


@pytest.mark.parametrize(
    ("here", "given", "variable", "found"),
    [
        ("outer/inner", None, None, "outer/inner"),
        ("outer/models", None, None, "outer"),
        ("elsewhere", "../outer", None, "outer"),
        ("outer/inner", "..", "nowhere", "outer"),
        ("outer", None, "inner", "outer/inner"),
    ],
)
def test_a_project_is_found_as_dbt_finds_it(folders, monkeypatch, here, given, variable, found):
    (folders / here).mkdir(exist_ok=True)
    monkeypatch.chdir(folders / here)
    if variable:
        monkeypatch.setenv("DBT_PROJECT_DIR", variable)
    assert use_project(find_project(given)) == folders / found


@pytest.mark.parametrize(
    ("variable", "said"),
    [(None, "elsewhere and the folders above it"), ("../nothing", "elsewhere/../nothing")],
)
def test_where_no_project_is_the_places_are_named(folders, monkeypatch, variable, said):
    if variable:
        monkeypatch.setenv("DBT_PROJECT_DIR", variable)
    with pytest.raises(LakehouseError, match="Name the project: --project-dir DIR") as error:
        find_project(None)
    assert str(error.value).startswith(f"No dbt_project.yml in {folders}/{said}.")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (None, "outer/.lakehouse"),
        ("", "outer/.lakehouse"),
        ("state", "outer/state"),
        ("../lake", "lake"),
        ("/srv/lake", "/srv/lake"),
    ],
)
def test_the_lakehouse_is_relative_to_the_project(folders, monkeypatch, name, found):
    if name is not None:
        monkeypatch.setenv("LAKEHOUSE_DIR", name)
    (folders / "link").symlink_to("outer")
    for folder in ("../outer", "../link"):
        use_project(folder)
        assert project_folder() == folders / "outer"
        assert lakehouse_dir() == folders / found


def listing(folder):
    """Return the files of a project, and when they were written; Python's own cache is left out."""
    paths = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {path: path.lstat().st_mtime_ns for path in paths if not path.is_dir()}


@pytest.mark.long
def test_commands_run_from_anywhere_in_any_locale_on_a_project_that_stays_as_it_is(tmp_path):
    home = tmp_path / "données 订单"
    checkout = home / "project"
    left_out = shutil.ignore_patterns(".git", ".venv", ".lakehouse", "target", "logs")
    shutil.copytree(PROJECT, checkout, ignore=left_out, symlinks=True)
    for topic in ("shop.payments", "shop.orders"):
        shutil.copytree(LANDING / topic, home / "landing é" / topic)
    before = listing(checkout)
    environment = os.environ | {"LC_ALL": "C", "LAKEHOUSE_DIR": "../湖"}
    environment |= {"DBT_TARGET_PATH": str(home / "target"), "DBT_LOG_PATH": str(home / "logs")}

    def run(*command, **more):
        done = subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            cwd="/",
            env=environment | more,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = ("--project-dir", checkout)
    said = run("cdc_lakehouse.console.cli", "ingest", "files", home / "landing é", *where)
    assert "shop.payments  dts_avro" in said
    selected = ("-s", "topics", "+payments", "+schema_drift")
    run("dbt.cli.main", "build", *where, "--profiles-dir", checkout, "--resource-type", "seed",
        "--resource-type", "model", *selected)  # fmt: skip
    # The key is in the Avro messages; to read a statement a view asks a Python function.
    question = "select count(id), (select count(*) > 0 from silver.schema_drift) from gold.payments"
    answer = run(
        "cdc_lakehouse.console.cli", "query", question, "--csv", DBT_PROJECT_DIR=str(checkout)
    )
    assert answer.splitlines()[1] == f"{len(expected_rows('payments'))},true"
    assert sorted(path.name for path in home.iterdir()) == sorted(
        ["project", "landing é", "target", "logs", "湖"]
    )
    assert listing(checkout) == before


def test_a_process_opens_one_lakehouse_and_takes_the_functions_of_each_project(
    folders, monkeypatch
):
    registered = []
    monkeypatch.setenv("LAKEHOUSE_DIR", str(folders / "lake"))
    monkeypatch.setattr(connections, "_root", "spark")
    monkeypatch.setattr(connections, "_home", folders / "lake")
    monkeypatch.setattr(connections, "_project", folders / "outer")
    monkeypatch.setattr(connections, "register_functions", lambda *given: registered.append(given))
    for folder in ("outer", "outer/inner", "outer/inner"):
        use_project(folders / folder)
        assert connections.root_session({}) == "spark"
    assert registered == [("spark", folders / "outer" / "inner")]

    monkeypatch.setenv("LAKEHOUSE_DIR", "other")
    with pytest.raises(DbtRuntimeError, match=f"This process has {folders}/lake open") as error:
        connections.root_session({})
    assert f"Start another for {folders}/outer/inner/other." in str(error.value)
