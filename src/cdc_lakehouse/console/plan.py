"""Find what the next run of a table would do: its statements, the versions it reads, and why."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dbt.adapters.factory import get_adapter_by_type

from cdc_lakehouse.console.run import parse, start_spark
from cdc_lakehouse.engine.fixed_names import CHANGE_LOG
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.materializations import gold_kind
from cdc_lakehouse.engine.steps import (
    NOTHING_NEW,
    Ask,
    CheckContract,
    Commit,
    Execute,
    Expect,
    Finish,
    IsKnown,
    Keep,
    LookAt,
    Name,
    Remove,
    Say,
    Stage,
    Step,
)
from cdc_lakehouse.engine.window import Window
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.reconcile.compiled import compiled_node
from cdc_lakehouse.sql import indented
from dbt.adapters.lakehouse.planning import plan_of_gold, plan_of_log

WIDEST = 100  # characters of the line of a step


@dataclass(frozen=True)
class ShownStep:
    """A step as a person reads it: what it does, to what, and its SQL if it has some."""

    does: str
    what: str
    sql: str | None = None


@dataclass(frozen=True)
class TablePlan:
    """The plan of the next run of a table.

    Attributes:
        why: what kind of run it is, and why.
        read, last: it reads the commits of bronze.messages after `read` up to `last`; None for
            `read` where it reads all, for `last` where nothing has landed.
    """

    table: str
    why: str
    read: int | None
    last: int | None
    steps: list[ShownStep]

    def document(self) -> dict[str, Any]:
        """Return what a program reads."""
        return asdict(self)

    def text(self, with_sql: bool) -> str:
        """Return what a person reads.

        Args:
            with_sql: whether each statement stands below its step.
        """
        return "\n".join([f"{self.table}: {self.why}", *self._lines(with_sql)])

    def _lines(self, with_sql: bool) -> Iterator[str]:
        for number, step in enumerate(self.steps, start=1):
            yield f"{number:>3}  {step.does:<8}  {step.what}"[:WIDEST].rstrip()
            if with_sql and step.sql:
                yield from (f"       {line}" for line in indented(step.sql).splitlines())


def plan_of(named: str) -> TablePlan:
    """Return what the next run of a table would do; what it reads is read, and nothing is written.

    Args:
        named: silver.events, or a table of gold with its schema.

    Raises:
        LakehouseError: there is no such table, or dbt cannot read or compile its model.
    """
    manifest = parse()
    models = {f"{m.schema}.{m.alias}": m for m in manifest.nodes.values() if _has_plan(m)}
    if named not in models:
        raise LakehouseError(
            f"{named} is no table with a plan. Those are {', '.join(sorted(models)) or 'none'}; "
            "all other models are written as dbt writes them."
        )
    node = models[named]
    is_log = node.config.materialized == CHANGE_LOG
    compiled = node if is_log else compiled_node(".".join(node.fqn), manifest)
    start_spark(is_long=False)
    adapter: Any = get_adapter_by_type("lakehouse")
    if is_log:
        window, steps = plan_of_log(adapter, compiled)
        return TablePlan(named, _why_log(window), window.read, window.last, _shown(steps))
    table, steps = plan_of_gold(adapter, compiled)
    return TablePlan(named, _why_gold(table, steps), table.read, table.last, _shown(steps))


def _has_plan(node: Any) -> bool:
    materialized = node.config.materialized
    is_planned = materialized == CHANGE_LOG or gold_kind(materialized) is not None
    return node.resource_type == "model" and is_planned


def _commits(read: int | None, last: int | None) -> str:
    if read is None:
        return f"all commits of bronze.messages up to {last}"
    if read + 1 == last:
        return f"commit {last} of bronze.messages"
    return f"commits {read + 1} to {last} of bronze.messages"


def _why_log(window: Window) -> str:
    build = window.build
    if window.is_empty:
        return f"nothing new since commit {window.read} of bronze.messages"
    does = "is rebuilt from" if build.rebuild else "appends the results of"
    if not build.exists:
        does = "is made of"
    formats = f"; formats {', '.join(sorted(window.formats))}" if window.formats else ""
    return f"{does} {_commits(window.read, window.last)}{formats}"


def _why_gold(table: GoldTable, steps: list[Step]) -> str:
    ends = [step for step in steps if isinstance(step, (Commit, Finish))]
    if any(isinstance(step, Finish) and step.message == NOTHING_NEW for step in ends):
        return f"nothing new since commit {table.read} of bronze.messages"
    read = _commits(table.read, table.last)
    if table.rebuild or table.is_replaced:
        return f"is rebuilt from {read}"
    if table.read is None:
        return f"is made of {read}"
    if any(isinstance(step, Commit) and step.is_staged for step in ends):
        return f"merges {read}"
    return f"has read {read}, which change nothing"


def _shown(steps: list[Step]) -> list[ShownStep]:
    return [shown for step in steps if (shown := _shown_step(step))]


def _shown_step(step: Step) -> ShownStep | None:
    match step:
        case Say():
            return ShownStep("says", step.text)
        case Name():
            return ShownStep("names", step.view, step.sql)
        case Stage():
            return ShownStep("stages", step.view, step.sql)
        case Keep():
            return ShownStep("keeps", f"{step.view}, {len(step.rows):,} rows")
        case Ask():
            return ShownStep("asks", _begin(step.sql), step.sql)
        case Execute():
            return ShownStep("runs", _begin(step.sql), step.sql)
        case Remove():
            return ShownStep("removes", str(step.table))
        case CheckContract():
            return ShownStep("checks", "the columns of the model against its YAML", step.sql)
        case Commit():
            noted = f"{step.source} read to {step.version}"
            return ShownStep("commits", f"{step.table}, {noted}: {_begin(step.sql)}", step.sql)
        case Finish():
            return ShownStep("ends", step.message.lower())
        case Expect() | IsKnown() | LookAt():
            return None


def _begin(sql: str) -> str:
    return " ".join(sql.split())
