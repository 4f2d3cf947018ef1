"""What the steps of a run of one gold table have in common."""

from dataclasses import replace

from cdc_lakehouse.delta.statements import set_properties
from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.gold_table import GoldTable
from dbt.adapters.lakehouse.protection import ProtectionAdapter
from dbt.adapters.lakehouse.tables import Macros

# The changes that the run has given this name.
NEW_CHANGES = "select * from new_changes"


class TableRun:
    """A run of one gold table: its plan, and the macros that render its SQL."""

    def __init__(self, adapter: ProtectionAdapter, table: GoldTable, macros: Macros):
        self.adapter, self.table, self.macros = adapter, table, macros

    def note(self, found: Changes, properties: dict[str, str]) -> Changes:
        """Let the table say, before it has them, that it may have rows of a kind."""
        news = dict(properties.items() - self.table.properties.items())
        if news and not self.table.rebuild:
            self.adapter.execute(set_properties(str(self.table.storage), news))
        return replace(found, noted={**found.noted, **properties})
