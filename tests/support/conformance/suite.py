"""The classes of dbt's suite, each with what a project says that keeps Delta tables.

`judge` runs this file by a pytest of its own.
"""

import importlib
import inspect
import os
from getpass import getuser
from pathlib import Path

import dbt.tests.adapter
import dbt.tests.util
import pytest
import yaml
from dbt.tests.fixtures import project as dbt_project
from dbt.tests.util import run_sql_with_adapter, write_file

from conformance import MODULES
from conformance.here import HERE, NOT_OF_HERE
from conformance.spark import file_in_spark, statements

# Schemas are named as dbt names them: behind that of the target.
NAMES = """
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ default__generate_schema_name(custom_schema_name, node) }}
{%- endmacro %}
"""


@pytest.fixture(scope="class")
def dbt_profile_target():
    settings = {"spark.sql.sources.default": "delta"}
    return {"type": "lakehouse", "threads": 2, "server_side_parameters": settings}


@pytest.fixture(scope="class")
def profile_user():
    return getuser()


@pytest.fixture(scope="class")
def test_data_dir(request):
    (root,) = dbt.tests.adapter.__path__
    return Path(root) / request.cls.__module__.split(".")[0] / "data"


@pytest.fixture(scope="class")
def project(project_setup, project_files, test_data_dir):
    project_setup.test_dir = test_data_dir.parent
    return project_setup


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("logs"))
        patch.setenv("DBT_LOG_PATH", folder)
        yield folder


@pytest.fixture(scope="class")
def dbt_project_yml(project_root, project_config_update, macros):
    given = project_config_update
    config = {
        **{"name": "test", "profile": "test", "flags": {"send_anonymous_usage_stats": False}},
        **(yaml.safe_load(given) if isinstance(given, str) else given),
    }
    if not any("generate_schema_name" in text for text in macros.values()):
        project_root.mkdir("names")
        write_file(NAMES, project_root, "names", "generate_schema_name.sql")
        config["macro-paths"] = [*config.get("macro-paths", ["macros"]), "names"]
    for kind in ("models", "seeds", "snapshots"):
        config[kind] = {"+file_format": "delta", **config.get(kind, {})}
    config["models"].setdefault("+incremental_strategy", "merge")
    _write_file(yaml.safe_dump(config, width=1000), project_root, "dbt_project.yml")
    return config


def _write_file(contents, *paths):
    write_file(file_in_spark(str(paths[-1]), contents), *paths)


def _run_sql(self, sql, fetch=None):
    found = None
    for statement in statements(sql):
        found = run_sql_with_adapter(self.adapter, statement, fetch=fetch)
    return found


@pytest.fixture(autouse=True, scope="session")
def spark_words():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dbt_project, "write_file", _write_file)
        patch.setattr(dbt_project.TestProjInfo, "run_sql", _run_sql)
        yield


def _classes(name):
    """Return the classes of a module of which no other is made, if they apply here."""
    module = importlib.import_module(f"dbt.tests.adapter.{name}")
    for attribute, value in list(vars(module).items()):
        if value is write_file:  # of tests that change a file
            setattr(module, attribute, _write_file)
    own = [
        c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__
    ]
    for one in own:
        named = f"{name}.{one.__name__}"
        is_base = any(other is not one and issubclass(other, one) for other in own)
        tests = [test for test in dir(one) if test.startswith("test_")]
        left_out = [test for test in tests if f"{named}.{test}".startswith(tuple(NOT_OF_HERE))]
        if not is_base and len(left_out) < len(tests):
            content = {"__module__": name, **dict.fromkeys(left_out), **HERE.get(named, {})}
            yield named, type(f"Test {named}", (one,), content)


for _module in os.environ[MODULES].split(","):
    globals().update({f"Test {name}": each for name, each in _classes(_module)})
