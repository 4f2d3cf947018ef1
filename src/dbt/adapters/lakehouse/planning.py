"""Plan a run for `lakehouse plan`: execute the steps that read, and none that writes."""

from dataclasses import replace
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.high_water_mark import mark_of
from cdc_lakehouse.delta.past import UNREAD, Mark
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.gold_run import GoldRun
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.steps import (
    NOTHING_NEW,
    Commit,
    Execute,
    Finish,
    LookAt,
    Name,
    Reading,
    Say,
    Step,
    TableState,
    follow,
)
from cdc_lakehouse.engine.window import Window
from dbt.adapters.lakehouse.change_log_run import RESULTS, naming_messages
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.execution import Execution
from dbt.adapters.lakehouse.impl import LakehouseAdapter


class Planned(Execution):
    """Executes the steps that only read, and keeps all steps.

    Rows that they read are staged as in a run, so that a plan decides by the same counts. Steps
    behind the commit would read rows that no plan writes.
    """

    def __init__(self, adapter: LakehouseAdapter) -> None:
        super().__init__(adapter.tables, adapter.marks, adapter.views, {})
        self.steps: list[Step] = []
        self._commit: Commit | None = None

    def do(self, step: Step) -> Any:
        """Keep a step, and execute it if it only reads."""
        self.steps.append(step)
        if isinstance(step, Commit):
            self._commit = step
        if isinstance(step, LookAt):
            return self._with_commit(step.table, super().do(step))
        is_read = isinstance(step, Reading) and not self._commit
        return super().do(step) if is_read else None

    def _with_commit(self, table: BaseRelation, state: TableState | None) -> TableState | None:
        """The state of a table as the commit of the plan would leave it."""
        commit = self._commit
        if commit is None or commit.table != table:
            return state
        before = state.mark if state else UNREAD
        number = mark_of(commit.version, before.newest, commit.rebuild or before.went_back)
        after = Mark(number, number, commit.commit)
        return replace(state, mark=after) if state else TableState("", {}, after)


def plan_of_gold(adapter: LakehouseAdapter, node: Any) -> tuple[GoldTable, list[Step]]:
    """Return what the next run of a gold model works with, and its steps.

    Args:
        node: the model, compiled.
    """
    relation = adapter.Relation.create(schema=node.schema, identifier=node.alias)
    with adapter.connection_named("lakehouse plan"), short_errors():
        table = adapter.gold.plan(node.to_dict(omit_none=True), relation, node.compiled_code, False)
        planned = Planned(adapter)
        follow(GoldRun(table).steps(), planned.do)
    return table, planned.steps


def plan_of_log(adapter: LakehouseAdapter, node: Any) -> tuple[Window, list[Step]]:
    """Return what the next run of the change log reads, and its steps.

    The results are those of the formats' models: `dbt compile -s events` shows their SQL.
    """
    relation = adapter.Relation.create(schema=node.schema, identifier=node.alias)
    columns = [column.to_dict(omit_none=True) for column in node.columns.values()]
    with adapter.connection_named("lakehouse plan"), short_errors():
        window = adapter.silver.plan(relation, columns, False)
        build = window.build
        steps: list[Step] = [Say(build.said)] if build.said else []
        steps += [Execute(window.preparation)] if window.preparation else []
        found = change_log.find_new_messages(adapter.tables.spark, window)
    if found is None:
        return window, [*steps, Finish(NOTHING_NEW)]
    steps.append(Name("new_deliveries", window.deliveries))
    steps += naming_messages(relation, window, found)
    commit = Commit(
        window.typed(RESULTS), relation, change_log.MESSAGES, window.last, build.rebuild
    )
    return window, [*steps, commit]
