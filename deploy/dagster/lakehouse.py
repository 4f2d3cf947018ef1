"""Dagster assets: the landed messages, and one asset for each model, seed and test of the project.

Dagster has an environment of its own, with dagster and dagster-dbt; the commands run in that of the
project. `dbt parse` there writes the manifest that the assets are read from.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliResource, dbt_assets

PROJECT = Path(os.environ.get("LAKEHOUSE_PROJECT", "/srv/cdc_lakehouse"))
PROGRAMS = PROJECT / ".venv" / "bin"
LANDING = os.environ.get("LAKEHOUSE_LANDING", "/srv/landing")
MANIFEST = Path(os.environ.get("DBT_TARGET_PATH", PROJECT / "target")) / "manifest.json"
MESSAGES = dg.AssetKey(["bronze", "messages"])


class Translator(DagsterDbtTranslator):
    """Let dbt's source of messages be the asset that is landed."""

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey(["bronze", dbt_resource_props["name"]])
        return super().get_asset_key(dbt_resource_props)


@dg.asset(key=MESSAGES)
def messages() -> None:
    """The messages of the topics, as they were delivered."""
    command = [PROGRAMS / "lakehouse", "ingest", "files", LANDING]
    subprocess.run(command, cwd=PROJECT, check=True)


@dbt_assets(manifest=MANIFEST, dagster_dbt_translator=Translator())
def models(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
    """Silver and gold, built by one dbt with one Spark."""
    build = ["build", "--exclude-resource-type", "unit_test"]
    yield from dbt.cli(build, context=context).stream()


EVERYTHING = dg.define_asset_job("lakehouse", selection="*")

definitions = dg.Definitions(
    assets=[messages, models],
    jobs=[EVERYTHING],
    schedules=[dg.ScheduleDefinition(job=EVERYTHING, cron_schedule="*/5 * * * *")],
    resources={
        "dbt": DbtCliResource(
            project_dir=str(PROJECT), profiles_dir=str(PROJECT), dbt_executable=PROGRAMS / "dbt"
        )
    },
)
