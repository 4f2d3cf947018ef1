"""Names of tables that a project cannot change: it is refused before anything is written."""

from types import SimpleNamespace

import pytest

from cdc_lakehouse.engine.fixed_names import refuse_other_names
from cdc_lakehouse.errors import LakehouseError

DOCUMENTED = "the macro `generate_schema_name` of this project"


def model(path, kind, schema, config_schema, package="cdc_lakehouse", alias=None):
    name = path.rpartition("/")[2].partition(".")[0]
    return SimpleNamespace(
        name=name,
        schema=schema,
        identifier=alias or name,
        package_name=package,
        original_file_path=path,
        config=SimpleNamespace(materialized=kind, schema=config_schema),
    )


def project(silver="silver", gold="gold", asked_silver="silver", asked_gold="gold"):
    return [
        model("models/silver/events.sql", "change_log", silver, asked_silver),
        model("models/silver/row_images.sql", "view", silver, asked_silver),
        model("models/gold/shop/orders.sql", "current_state", gold, asked_gold, package="shop"),
        model("models/marts/sums.sql", "table", "anything", "marts", package="shop"),
    ]


def test_a_project_as_it_is_made_is_accepted():
    refuse_other_names(project(), "dev", "silver")
    refuse_other_names(project(gold="crm", asked_gold="crm"), "dev", "silver")
    # Without silver the names are the project's own.
    refuse_other_names(project(silver="x")[2:3], "dev", "anything")


@pytest.mark.parametrize(
    ("nodes", "schema", "said"),
    [
        # dbt's documentation: the schema of the target before that of the folder.
        (project(silver="silver_silver", gold="silver_gold"), "silver", DOCUMENTED),
        (project(gold="silver_gold"), "silver", DOCUMENTED),
        (project(silver="raw", asked_silver="raw"), "silver", r"\+schema: raw"),
        (project(), "dev_anna", "Target dev of profiles.yml has schema: dev_anna"),
        (
            [
                *project(),
                model("models/silver/heartbeats.sql", "view", "silver", "silver", alias="b"),
            ],
            "silver",
            "would be silver.b, not silver.heartbeats: an alias",
        ),
    ],
)
def test_other_names_are_refused_with_what_to_do(nodes, schema, said):
    with pytest.raises(LakehouseError, match=said) as error:
        refuse_other_names(nodes, "dev", schema)
    assert "docs/environments.md" in str(error.value)
