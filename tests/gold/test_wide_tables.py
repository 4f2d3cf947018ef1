"""Gold tables of many columns: WIDE_COLUMNS (300), in `make soak` as many as InnoDB allows.

A gold table of more than 200 columns is merged with other settings than others.
"""

import os

import pytest
from laboratory import YAML, Laboratory, change, write_models
from test_wide_views import NAMES as ALL_NAMES

pytestmark = pytest.mark.full

NAMES = ALL_NAMES[: int(os.environ.get("WIDE_COLUMNS") or 300)]
COLUMNS = {"id": "try_cast(image['id'] as bigint)"} | {
    name: f"try_cast(image['{name}'] as decimal(10, 2))" for name in NAMES[1:]
}
HEAD, _, _ = YAML.partition("      - {{name: name,")
WIDE = HEAD + "".join(
    f'      - {{{{name: {name}, data_type: "decimal(10, 2)", description: A measurement.}}}}\n'
    for name in NAMES[1:]
)
MODELS = {"wide": "", "wide_history": "materialized='history'"}
FIRST, OTHER, LAST = NAMES[1], NAMES[len(NAMES) // 2], NAMES[-1]
SHOWN = f"id, cast({FIRST} as string), cast({OTHER} as string), cast({LAST} as string) as last"


def row(number):
    return {"id": str(number)} | {name: "1.50" for name in NAMES[1:]}


def update(place, value):
    """Return an update whose image has the key and one column."""
    return change("UPDATE", place, {"id": "1", LAST: value}, old=[{LAST: "1.50"}])


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse(
        "wide-tables", change=lambda project: write_models(project, MODELS, COLUMNS, WIDE)
    )
    laboratory = Laboratory(lakehouse, tmp_path_factory.mktemp("wide-landing"))
    write_models(lakehouse.project, MODELS, COLUMNS, WIDE)
    return laboratory


@pytest.mark.long
def test_a_wide_table_takes_updates_of_one_column(laboratory):
    laboratory.deliver(change("INSERT", 1_000, row(1), row(2)), models={"wide": ""})
    assert len(laboratory.lakehouse.query("select * from gold.wide limit 1")[0]) > len(NAMES)
    unchanged = (2, "1.50", "1.50", "1.50")
    assert laboratory.rows(SHOWN, "wide") == [(1, "1.50", "1.50", "1.50"), unchanged]
    laboratory.deliver(update(61_000, "9.25"), models={"wide": ""})
    assert laboratory.rows(SHOWN, "wide") == [(1, "1.50", "1.50", "9.25"), unchanged]


@pytest.mark.long
def test_its_history_says_what_it_was(laboratory):
    laboratory.lakehouse.dbt("run", "-s", "wide_history")
    laboratory.deliver(update(121_000, "9.75"), models={"wide_history": ""})
    for moment, last in (("14:13:30", "1.50"), ("14:14:30", "9.25"), ("14:15:30", "9.75")):
        found = laboratory.lakehouse.query(
            f"select {SHOWN} from gold.wide_as_of(timestamp '2026-09-21 {moment}') order by id"
        )
        assert [tuple(values.values()) for values in found] == [
            (1, "1.50", "1.50", last),
            (2, "1.50", "1.50", "1.50"),
        ]
