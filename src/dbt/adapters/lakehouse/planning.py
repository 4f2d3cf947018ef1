"""What a run would do, for `lakehouse plan`: its steps, of which none that writes is executed."""

from typing import Any

from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.gold_run import GoldRun
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.steps import (
    NOTHING_NEW,
    Commit,
    Execute,
    Finish,
    Name,
    Reading,
    Say,
    Step,
    follow,
)
from cdc_lakehouse.engine.window import Window
from dbt.adapters.lakehouse.change_log_run import OUTCOMES, naming_messages
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.execution import Execution
from dbt.adapters.lakehouse.impl import LakehouseAdapter


class Planned(Execution):
    """Executes the steps that only read, and keeps all of them.

    What they read is staged as in a run, so that a plan decides by the same counts.
    """

    def __init__(self, adapter: LakehouseAdapter) -> None:
        super().__init__(adapter, {})
        self.steps: list[Step] = []

    def do(self, step: Step) -> Any:
        """Keep a step, and execute it if it only reads."""
        self.steps.append(step)
        return super().do(step) if isinstance(step, Reading) else None


def plan_of_gold(adapter: LakehouseAdapter, node: Any) -> tuple[GoldTable, list[Step]]:
    """Return what the next run of a gold model works with, and its steps.

    Args:
        node: the model, compiled.
    """
    relation = adapter.Relation.create(schema=node.schema, identifier=node.alias)
    with adapter.connection_named("lakehouse plan"), short_errors():
        table = adapter.plan_gold_table(
            node.to_dict(omit_none=True), relation, node.compiled_code, False
        )
        planned = Planned(adapter)
        follow(GoldRun(table).steps(), planned.do)
    return table, planned.steps


def plan_of_log(adapter: LakehouseAdapter, node: Any) -> tuple[Window, list[Step]]:
    """Return what the next run of the change log reads, and its steps.

    The outcomes are those of the formats' models: `dbt compile -s events` shows their SQL.
    """
    relation = adapter.Relation.create(schema=node.schema, identifier=node.alias)
    columns = [column.to_dict(omit_none=True) for column in node.columns.values()]
    with adapter.connection_named("lakehouse plan"), short_errors():
        window = adapter.plan_change_log(relation, columns, False)
        build = window.build
        steps: list[Step] = [Say(build.said)] if build.said else []
        steps += [Execute(window.preparation)] if window.preparation else []
        found = change_log.find_new_messages(adapter.spark, window)
    if found is None:
        return window, [*steps, Finish(NOTHING_NEW)]
    steps.append(Name("new_deliveries", window.deliveries))
    steps += naming_messages(relation, window, found)
    commit = Commit(
        window.typed(OUTCOMES), relation, change_log.MESSAGES, window.last, build.rebuild
    )
    return window, [*steps, commit]
