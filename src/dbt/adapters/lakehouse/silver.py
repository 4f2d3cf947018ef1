"""Run the materialization of the change log; `cdc_lakehouse.engine` decides what it does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.bronze.removal import removed_messages
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.loss import refuse_first_build
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.window import Window
from cdc_lakehouse.routes import read_routes
from dbt.adapters.lakehouse.change_log_run import ChangeLogRun
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.execution import Context, Execution
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.moments import Moments
from dbt.adapters.lakehouse.protection import ProtectedColumns
from dbt.adapters.lakehouse.tables import Tables, folder_of
from dbt.adapters.lakehouse.views import Views

# The columns that the change log itself gives.
GIVEN_BY_CHANGE_LOG = ("is_late", "is_duplicate", "loaded_at")


class Silver:
    """The change log and what is new for it."""

    def __init__(
        self,
        tables: Tables,
        marks: Marks,
        views: Views,
        protection: ProtectedColumns,
        moments: Moments,
    ) -> None:
        self.tables, self.marks, self.views, self.protection = tables, marks, views, protection
        self.moments = moments
        self._windows: dict[str, Window] = {}

    def routes(self) -> str:
        """Return the routes of seeds/topics.csv as it is now, as JSON."""
        with short_errors():
            return read_routes(Path(self.tables.adapter.config.project_root)).as_json()

    @property
    def _messages(self) -> BaseRelation:
        return self.tables.named(change_log.MESSAGES)

    def plan(
        self, relation: BaseRelation, columns: list[dict[str, Any]], full_refresh: bool
    ) -> Window:
        """Return what this run of a change log reads of bronze.messages; decided once in a run."""
        name = relation.render()
        if name not in self._windows:
            path = folder_of(relation)
            with short_errors():
                if self.marks.version_read(relation, change_log.MESSAGES) < 0:
                    refuse_first_build(removed_messages(self.tables.spark), path)
                exists = self.tables.exists(relation)
                protected = self.protection.lines().text(("silver",))
                window = change_log.plan_window(
                    self.tables.spark, name, path, columns, exists, full_refresh, protected
                )
            if not window.is_empty:
                self.tables.expect_rows_since(self._messages, window.read)
            self._windows[name] = window
        return self._windows[name]

    def names_of_dropped_table(self) -> str:
        """Return the names of a table that a statement drops, as columns."""
        return sql.names_of_dropped_table()

    def formats_landed(self) -> frozenset[str]:
        """Return the formats of all messages that bronze has."""
        last = self.tables.snapshot(self._messages).version()
        with short_errors():
            return change_log.formats_between(self.tables.spark, -1, last)

    def columns_of_results(self, node: Mapping[str, Any], format: str) -> str:
        """Return the columns of the change log that a format's model gives, in their order.

        Each stands behind the name of that model, so that an error says which model lacks it.
        """
        names = [name for name in node["columns"] if name not in GIVEN_BY_CHANGE_LOG]
        return ", ".join(f"{format}.{self.tables.adapter.quote(name)}" for name in names) or "*"

    def run(self, relation: BaseRelation, window: Window, results: str, context: Context) -> None:
        """Append to a change log what became of the messages in a window.

        Args:
            results: their query, by the views of new messages.
            context: that in which dbt renders the model.
        """
        self.views.drop_retired()
        with short_errors():
            self.moments.ensure()
            execution = Execution(self.tables, self.marks, self.views, context)
            ChangeLogRun(execution, self.protection, relation, window, results).run()
