"""The names that a project cannot change: engine, views and report read tables by them."""

from collections.abc import Iterable
from typing import Any, Protocol

from cdc_lakehouse.engine.materializations import gold_kind
from cdc_lakehouse.errors import LakehouseError

SCHEMA = "silver"
CHANGE_LOG = "change_log"
EVENTS = "silver.events"
REMEDY = (
    "Keep environments apart by LAKEHOUSE_DIR, or by LAKEHOUSE_METASTORE where it is shared: "
    "docs/environments.md of cdc_lakehouse."
)


class Model(Protocol):
    """A model of dbt."""

    name: str
    schema: str
    identifier: str
    package_name: str
    original_file_path: str
    config: Any


def refuse_other_names(models: Iterable[Model], target: str, schema: str) -> None:
    """Refuse a project that gives tables of cdc_lakehouse other schemas or names than they have.

    Otherwise a run would look for what is new where no table is, and find nothing.

    Args:
        models: those of the project and of its packages.
        target: the name of the target of profiles.yml.
        schema: what the target says, the schema of models that name none.

    Raises:
        LakehouseError: the text names the macro or the setting, and what to do.
    """
    models = list(models)
    log = next((model for model in models if model.config.materialized == CHANGE_LOG), None)
    if log is None:
        return  # a project that only reads
    if schema != SCHEMA:
        raise LakehouseError(
            f"Target {target} of profiles.yml has schema: {schema}. It would change no name: the "
            "tables are silver.events and gold.<table> in each target, so that two targets would "
            f"write the same ones. Remove `schema`, or let it be {SCHEMA}; give models of your own "
            f"a schema by +schema in dbt_project.yml. {REMEDY}"
        )
    for model in models:
        if model.config.materialized == "ephemeral":
            continue
        is_silver = model.package_name == log.package_name and _is_in_silver(model)
        if not is_silver and not gold_kind(model.config.materialized):
            continue
        asked = model.config.schema or schema
        wanted = SCHEMA if is_silver else asked
        where = f"{model.original_file_path} would be {model.schema}.{model.identifier}"
        if model.schema != asked:
            raise LakehouseError(
                f"{where}, not {wanted}.{model.name}: the macro `generate_schema_name` of this "
                "project changes the names of schemas, which cdc_lakehouse has by name. Let it "
                "return the schema of such a model as it is: "
                "`{{ custom_schema_name or target.schema }}`. " + REMEDY
            )
        if model.schema != wanted:
            raise LakehouseError(
                f"{where}: its configuration says +schema: {model.config.schema}, and "
                f"cdc_lakehouse reads {wanted}.{model.name} by that name. Remove +schema of the "
                f"models of {log.package_name} in dbt_project.yml. {REMEDY}"
            )
        if is_silver and model.identifier != model.name:
            raise LakehouseError(
                f"{where}, not {wanted}.{model.name}: an alias, or the macro `generate_alias_name` "
                "of this project, changes its name, by which cdc_lakehouse reads it. Remove it. "
                + REMEDY
            )


def _is_in_silver(model: Model) -> bool:
    return model.original_file_path.replace("\\", "/").startswith("models/silver/")
