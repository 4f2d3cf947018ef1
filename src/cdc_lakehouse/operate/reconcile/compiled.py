"""The query of a gold model, as dbt compiles it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdc_lakehouse.engine.gold_options import GoldOptions, values_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.reconcile.known import model_of, named_table
from cdc_lakehouse.sql import identifier

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest


@dataclass(frozen=True)
class Compiled:
    """A gold model: the relation that it is, its compiled query, its columns, its key.

    `columns` maps the name of each to that in the source. `held` is the view of the rows that rules
    hold back, if it has rules. `removing`: the operations that remove all older rows of a table.
    """

    name: str
    relation: str
    held: str
    sql: str
    columns: dict[str, str]
    key: list[str]
    removing: tuple[str, ...] = ("truncate", "extract")


def compiled_model(named: str, project_dir: Path) -> Compiled:
    """Return the gold model that has the current rows of a table, which a person names.

    No table is asked for it: dbt in this process would keep the tables for itself.

    Raises:
        LakehouseError: there is none, or dbt cannot compile it.
    """
    model = model_of(named_table(named), project_dir)
    if model is None:
        raise LakehouseError(f"No gold model reads {named}. `lakehouse add-table` writes one.")
    node = compiled_node(model.name)
    held = f"{node.schema}_storage.{identifier(f'{node.alias}_held')}"
    sql = node.compiled_code
    removing = tuple(GoldOptions(values_of(node.config, "current_state")).removing)
    return Compiled(model.name, node.relation_name, held, sql, model.columns, model.key, removing)


def compiled_node(selected: str, manifest: "Manifest | None" = None) -> Any:
    """Return a model as dbt compiles it.

    Args:
        selected: its name, maybe behind those of its package and folders, with dots between them.
        manifest: the project, if dbt has read it.

    Raises:
        LakehouseError: dbt cannot compile it.
    """
    from dbt.cli.main import dbtRunner

    name = selected.rpartition(".")[2]
    quietly = ["--quiet", "--log-level", "none", "--no-populate-cache"]
    done = dbtRunner(manifest=manifest).invoke([*quietly, "compile", "-s", selected])
    results = list(getattr(done.result, "results", None) or [])
    node = next((r.node for r in results if r.node.name == name), None)
    if not done.success or node is None or not node.compiled_code:
        said = "; ".join(str(r.message) for r in results if r.message) or str(done.exception)
        raise LakehouseError(f"dbt cannot compile {name}: {said}")
    return node
