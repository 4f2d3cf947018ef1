"""The adapter passes dbt's own tests of adapters, in projects with nothing of cdc_lakehouse."""

import pytest
from conformance import judge, modules
from conformance.here import FAILS, NOT_OF_HERE
from conftest import SAID, parameters_of_asked

# The functions of `utils` are dbt-spark's own, and hold what they held.
MODULES = [
    pytest.param(name, marks=pytest.mark.long if name.startswith("utils.") else pytest.mark.full)
    for name in modules()
    if not name.startswith(tuple(NOT_OF_HERE))
]


@pytest.fixture(scope="module")
def conforming(request, open_lakehouse):
    """The faults of each test of the modules that are asked for, by MODULE.CLASS.TEST."""
    asked = sorted({test["name"] for test in parameters_of_asked(request)})
    lakehouse = open_lakehouse("conformance")
    found = lakehouse.process.submit(judge, asked).result()
    failed = sum(any(faults) for faults in found.values())
    SAID.append(f"dbt's tests of adapters: {len(found)} in {len(asked)} modules, {failed} failed")
    return found


@pytest.mark.parametrize("name", MODULES)
def test_the_adapter_does_what_dbt_asks_of_one(conforming, name):
    found = {test: faults for test, faults in conforming.items() if test.startswith(f"{name}.")}
    assert found
    unlisted = [faults for test, faults in found.items() if not test.startswith(tuple(FAILS))]
    assert not any(unlisted), "\n\n".join(fault for faults in unlisted for fault in faults)
    listed = {test: faults for test, faults in found.items() if test.startswith(tuple(FAILS))}
    assert [test for test, faults in listed.items() if not faults] == [], "no longer fails"
