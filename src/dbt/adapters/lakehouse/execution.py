"""Execute the steps of a run, in the session of the thread that dbt has given to its model."""

from collections.abc import Callable, Mapping
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse

from cdc_lakehouse.delta.commit import set_for_one_statement
from cdc_lakehouse.delta.log import bytes_since
from cdc_lakehouse.delta.past import UNREAD
from cdc_lakehouse.delta.stored_columns import types_of_columns, types_of_schema
from cdc_lakehouse.engine.change_feed import columns_lacking
from cdc_lakehouse.engine.steps import (
    NOT_WRITTEN,
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
    TableState,
)
from cdc_lakehouse.runtime.session import FEW_ROWS, FEW_STORED_BYTES, compile_plans
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.tables import Tables, folder_of, tell
from dbt.adapters.lakehouse.views import Views

# What dbt gives a materialization, by name: its functions and the macros of the project.
Context = Mapping[str, Callable[..., Any]]


class Execution:
    """Executes the steps of a run with Spark, and tells dbt about it.

    Args:
        context: that in which dbt renders the model.
    """

    def __init__(self, tables: Tables, marks: Marks, views: Views, context: Context):
        self.tables, self.marks, self.views, self.context = tables, marks, views, context

    def do(self, step: Step) -> Any:
        """Execute a step, and return its answer."""
        tables = self.tables
        match step:
            case Say():
                tell(step.text)
            case Name():
                tables.name_query(step.view, step.sql, step.comments)
            case Stage():
                tables.stage(step.view, step.sql)
            case Keep():
                tables.name_rows(step.view, step.schema, list(step.rows))
            case Ask():
                return tables.rows_asked_once(step.sql) if step.once else tables.rows(step.sql)
            case IsKnown():
                return tables.is_known(step.relation)
            case LookAt():
                return self._look_at(step)
            case Expect():
                self._expect(step.table, step.changes)
            case Execute():
                with set_for_one_statement(tables.spark, step.values):
                    tables.adapter.execute(step.sql)
                if step.noted:
                    self.views.note_text(step.noted)
            case Remove():
                tables.remove_table(step.table)
            case CheckContract():
                self.check_contract(step.sql, step.columns)
            case Commit():
                self.commit(step)
            case Finish():
                self.finish(step.message)
        return None

    def check_contract(
        self, sql: str, columns: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """Stop with dbt's table of differences unless a query has the columns of the YAML.

        Args:
            columns: those to compare with; None for all that the YAML declares.
        """
        if columns is not None:
            model: Any = self.context["model"]
            model.update(columns=columns)
        self.context["get_assert_columns_equivalent"](sql)

    def commit(self, step: Commit, row_by_row: bool = False) -> None:
        """Write a table, and tell dbt."""
        self.write(step.sql)
        response = self.marks.write_and_commit(
            step.sql,
            step.table,
            step.source,
            step.version,
            rebuild=step.rebuild,
            row_by_row=row_by_row,
            is_staged=step.is_staged,
            commit=step.commit,
        )
        self.store(response)

    def store(self, response: AdapterResponse) -> None:
        """Tell dbt how the statement of a model has ended."""
        self.context["store_result"]("main", response=response)

    def write(self, statement: str) -> None:
        """Let dbt keep a statement in its target folder."""
        self.context["write"](statement)

    def finish(self, message: str) -> None:
        """Tell dbt that a model had nothing to do, or was not written."""
        if message == NOT_WRITTEN:
            this: Any = self.context["this"]
            self.tables.say_not_written(this)
        self.context["store_raw_result"]("main", message=message, code=message, rows_affected="0")

    def _look_at(self, step: LookAt) -> TableState | None:
        tables, table = self.tables, step.table
        # To ask the metastore, too, takes a run of many tables longer.
        has_files = step.transaction or folder_of(table).is_dir()
        if not (has_files and tables.exists(table)):
            return None
        state, lacking = tables.snapshot(table), None
        if step.columns:
            stored = types_of_schema(state.schema().json())
            lacking = columns_lacking(stored, types_of_columns(tables.spark, step.columns))
        mark = self.marks.mark(table, step.transaction) if step.transaction else UNREAD
        return TableState(state.metadata().id(), tables.properties(table), mark, lacking)

    def _expect(self, table: BaseRelation, changes: int | None) -> None:
        tables = self.tables
        if changes is None:
            tables.expect_rows_since(tables.events, None)
            return
        size = bytes_since(folder_of(table), None)
        are_few = changes <= FEW_ROWS and size is not None and size <= FEW_STORED_BYTES
        compile_plans(tables.spark, not are_few)
