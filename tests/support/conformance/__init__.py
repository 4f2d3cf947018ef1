"""dbt's own tests of adapters (dbt-tests-adapter), run where a lakehouse is open.

Each module of the suite is run as it is, but for `spark.py`, which says its SQL in Spark's words,
and `here.py`: what a test expects of this adapter, and which tests do not apply, or fail, and why.
"""

import os
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

SUITE = Path(__file__).with_name("suite.py")
# The modules to run, for `suite.py`; it is collected by a pytest of its own.
MODULES = "CONFORMANCE_MODULES"


def modules() -> list[str]:
    """Return the names of the suite's modules, as FOLDER.MODULE."""
    import dbt.tests.adapter

    (root,) = dbt.tests.adapter.__path__
    paths = sorted(path.relative_to(root) for path in Path(root).rglob("test_*.py"))
    return [".".join(path.with_suffix("").parts) for path in paths]


class _Results:
    """A plugin of pytest that keeps what is wrong with each test."""

    def __init__(self):
        self.found = {}

    def pytest_runtest_logreport(self, report):
        # suite.py::Test MODULE.CLASS::TEST
        _, named, test = report.nodeid.split("::")
        faults = self.found.setdefault(f"{named.removeprefix('Test ')}.{test}", [])
        if report.failed:
            faults.append(f"{report.longreprtext}\n{report.capstdout}")


def judge(asked: list[str]) -> dict[str, list[str]]:
    """Run modules of the suite; return the faults of each test, by FOLDER.MODULE.CLASS.TEST.

    The process has a lakehouse open. It is left where it was.
    """
    from dbt_common.tests import disable_test_caching

    results, folder = _Results(), os.getcwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODULES, ",".join(asked))
        patch.delenv("DBT_TARGET_PATH")
        options = ["--noconftest", "-p", "dbt.tests.fixtures.project"]
        options += ["-p", "no:cacheprovider", "-p", "no:xdist"]
        with redirect_stdout(StringIO()) as said:
            code = pytest.main([*options, "--quiet", str(SUITE)], plugins=[results])
        assert code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), said.getvalue()
    os.chdir(folder)
    disable_test_caching()  # which the suite enables
    return results.found
