"""Read a project for `lakehouse contract`, without Spark and without waiting for a run."""

from pathlib import Path
from typing import Any

import yaml

from cdc_lakehouse.console.run import parse
from cdc_lakehouse.engine.materializations import gold_kind
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.contract import Project, contract
from cdc_lakehouse.protection import read_protection
from cdc_lakehouse.report.limits import read_limits
from cdc_lakehouse.routes import read_routes
from cdc_lakehouse.seeds import use_one_of


def contract_of(project_dir: Path, named: list[str]) -> dict[str, Any]:
    """Return the data contract of some gold tables of a project, of all if none is named.

    Args:
        named: with their schema or without: gold.orders, orders.

    Raises:
        LakehouseError: there is no such table, or dbt cannot read the project.
    """
    project = read_project(project_dir)
    return contract(project, tables_named(named, list(project.models)))


def tables_named(named: list[str], known: list[str]) -> list[str]:
    """Return the names of tables with their schema, each once; all that are known if none is named.

    Raises:
        LakehouseError: there is no such table; the text has those that are alike.
    """
    if not known:
        raise LakehouseError("The project has no gold table. `lakehouse add-table` writes one.")
    found: dict[str, None] = {}
    for name in named:
        full = name if "." in name else f"gold.{name}"
        if full not in known:
            raise LakehouseError(f"There is no gold table {name}. {use_one_of(full, known)}")
        found.setdefault(full)
    return list(found) or known


def read_project(project_dir: Path) -> Project:
    """Let dbt read a project, and return what of it goes into a contract.

    Raises:
        LakehouseError: dbt or a command cannot read it; the text says what is wrong where.
    """
    protection = read_protection(project_dir, needs_key=False)
    limits, routes = read_limits(project_dir), read_routes(project_dir)
    said = yaml.safe_load((project_dir / "dbt_project.yml").read_text(encoding="utf-8"))
    manifest = parse()
    nodes = [node.to_dict(omit_none=False) for node in manifest.nodes.values()]
    models = [x for x in nodes if x["resource_type"] == "model"]
    gold_models = [x for x in models if gold_kind(x["config"]["materialized"])]
    gold = {f"{x['schema']}.{x['alias']}": x for x in gold_models}
    return Project(
        name=said["name"],
        version=str(said.get("version", "0")),
        models=dict(sorted(gold.items())),
        tests=[x for x in nodes if x["resource_type"] == "test" and x.get("test_metadata")],
        owners={x.name: x.owner.name for x in manifest.groups.values() if x.owner.name},
        protection=protection,
        sources=list(dict.fromkeys(x.source for x in routes.in_precedence() if x.source)),
        limit=limits.value,
    )
