"""What the materialization of the change log asks; `cdc_lakehouse.engine` decides it."""

from collections.abc import Mapping
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterRequiredConfig

from cdc_lakehouse.bronze.removal import removed_messages
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.loss import refuse_first_build
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.window import Window
from dbt.adapters.lakehouse.change_log_run import ChangeLogRun
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.execution import Context, Execution
from dbt.adapters.lakehouse.protection import ProtectionAdapter
from dbt.adapters.lakehouse.tables import folder_of

# The columns that the change log itself gives.
GIVEN_BY_CHANGE_LOG = ("is_late", "is_duplicate", "loaded_at")


class SilverAdapter(ProtectionAdapter):
    """The change log and what is new for it."""

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._windows: dict[str, Window] = {}

    @property
    def _messages(self) -> BaseRelation:
        return self.named(change_log.MESSAGES)

    @available.parse(lambda *args, **kwargs: None)
    def plan_change_log(
        self, relation: BaseRelation, columns: list[dict[str, Any]], full_refresh: bool
    ) -> Window:
        """Return what this run of a change log reads of bronze.messages; decided once in a run."""
        name = relation.render()
        if name not in self._windows:
            path = folder_of(relation)
            with short_errors():
                if self.version_read(relation, change_log.MESSAGES) < 0:
                    refuse_first_build(removed_messages(self.spark), path)
                exists = self.exists(relation)
                protected = self.protection().text(("silver",))
                window = change_log.plan_window(
                    self.spark, name, path, columns, exists, full_refresh, protected
                )
            if not window.is_empty:
                self.expect_rows_since(self._messages, window.read)
            self._windows[name] = window
        return self._windows[name]

    @available.parse(lambda *args, **kwargs: "")
    def names_of_dropped_table(self) -> str:
        """Return the names of a table that a statement drops, as columns."""
        return sql.names_of_dropped_table()

    @available.parse(lambda *args, **kwargs: frozenset())
    def formats_landed(self) -> frozenset[str]:
        """Return the formats of all messages that bronze has."""
        last = self.snapshot(self._messages).version()
        with short_errors():
            return change_log.formats_between(self.spark, -1, last)

    @available.parse(lambda *args, **kwargs: "*")
    def columns_of_outcomes(self, node: Mapping[str, Any], format: str) -> str:
        """Return the columns of the change log that a format's model gives, in their order.

        Each stands behind the name of that model, so that an error says which model lacks it.
        """
        names = [name for name in node["columns"] if name not in GIVEN_BY_CHANGE_LOG]
        return ", ".join(f"{format}.{self.quote(name)}" for name in names) or "*"

    @available.parse(lambda *args, **kwargs: None)
    def run_change_log(
        self, relation: BaseRelation, window: Window, outcomes: str, context: Context
    ) -> None:
        """Append to a change log what became of the messages in a window.

        Args:
            outcomes: their query, by the views of new messages.
            context: that in which dbt renders the model.
        """
        self.drop_retired_views()
        with short_errors():
            execution = Execution(self, context)
            ChangeLogRun(self, relation, window, outcomes, execution).run()
