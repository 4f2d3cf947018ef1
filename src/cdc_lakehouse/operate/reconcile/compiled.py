"""The query of a gold model, as dbt compiles it."""

from dataclasses import dataclass
from pathlib import Path

from cdc_lakehouse.engine.gold_options import DEFAULTS, GoldOptions
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.reconcile.known import model_of, named_table
from cdc_lakehouse.sql import identifier


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
    from dbt.cli.main import dbtRunner

    quietly = ["--quiet", "--log-level", "none", "--no-populate-cache"]
    done = dbtRunner().invoke([*quietly, "compile", "-s", model.name])
    results = list(getattr(done.result, "results", None) or [])
    node = next((r.node for r in results if r.node.name == model.name), None)
    if not done.success or node is None or not node.compiled_code:
        said = "; ".join(str(r.message) for r in results if r.message) or str(done.exception)
        raise LakehouseError(f"dbt cannot compile {model.name}: {said}")
    held = f"{node.schema}_storage.{identifier(f'{node.alias}_held')}"
    sql = node.compiled_code
    given = {name: node.config.get(name) for name in DEFAULTS["current_state"]}
    values = DEFAULTS["current_state"] | {n: v for n, v in given.items() if v is not None}
    removing = tuple(GoldOptions(values).removing)
    return Compiled(model.name, node.relation_name, held, sql, model.columns, model.key, removing)
