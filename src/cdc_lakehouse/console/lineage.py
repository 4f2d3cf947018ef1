"""Read for `lakehouse lineage` the files that the last run of dbt left in its target folder."""

import json
import os
from pathlib import Path
from typing import Any

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.lineage import DbtRun, Event
from cdc_lakehouse.protection import read_protection

RUNS = ("run", "build", "seed", "snapshot")


def last_events(project: Path, namespace: str | None, source_namespace: str | None) -> list[Event]:
    """Return the events of the last run of dbt.

    Args:
        namespace, source_namespace: as of `DbtRun`; None takes the project's name, and that with
            `.source` behind it.

    Raises:
        LakehouseError: dbt has not run, or what it left is not of one run.
    """
    folder = Path(os.environ.get("DBT_TARGET_PATH") or project / "target")
    results, manifest = (_read(folder / name) for name in ("run_results.json", "manifest.json"))
    which = results["args"]["which"]
    if which not in RUNS:
        raise LakehouseError(
            f"The last command of dbt in {folder} was `dbt {which}`, which builds no table. Run "
            "`dbt build` or `lakehouse run`, then `lakehouse lineage`."
        )
    if manifest["metadata"]["generated_at"] > results["metadata"]["generated_at"]:
        raise LakehouseError(
            f"{folder / 'manifest.json'} is newer than the last run, whose models may have been "
            "others. Run `dbt build` or `lakehouse run`, then `lakehouse lineage` at once."
        )
    name = namespace or manifest["metadata"]["project_name"]
    sources = source_namespace or f"{name}.source"
    protection = read_protection(project, needs_key=False)
    return list(DbtRun(results, manifest, protection, name, sources).events())


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LakehouseError(
            f"{path} cannot be read: {error}. A run of dbt writes it: run `dbt build` or "
            "`lakehouse run`, or name its folder in DBT_TARGET_PATH."
        ) from None
    return found
