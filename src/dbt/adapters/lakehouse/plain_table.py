"""Keep gold_plain.<name>: the rows that a gold model shows, as a table for every Delta reader.

It follows the stored table by a commit of its own; if a run ends between the two, the next one
writes it whole, or, where it keeps a change feed, the rows that differ.
"""

from uuid import uuid4

from dbt.adapters.base.relation import BaseRelation
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.delta.commit import (
    POSITION,
    USER_METADATA,
    set_for_one_statement,
    settings_of_transaction,
)
from cdc_lakehouse.delta.past import UNREAD, note_of
from cdc_lakehouse.delta.statements import add_columns, set_properties, settings
from cdc_lakehouse.delta.stored_columns import types_of_columns, types_of_schema
from cdc_lakehouse.delta.watermark import mark_of
from cdc_lakehouse.engine.change_feed import (
    ENABLED,
    IDENTITY,
    FeedRows,
    columns_lacking,
    has_feed,
)
from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.judged_rows import RULES
from cdc_lakehouse.engine.plain_table import KIND as PLAIN_TABLE
from cdc_lakehouse.engine.plain_table import Step, next_step, transaction_of
from cdc_lakehouse.engine.rebuilds import KIND
from cdc_lakehouse.engine.rendering import sql
from dbt.adapters.lakehouse.execution import Execution
from dbt.adapters.lakehouse.protection import ProtectionAdapter
from dbt.adapters.lakehouse.tables import folder_of, tell


class PlainTable:
    """The copy of a gold table for other readers, in one run."""

    def __init__(self, adapter: ProtectionAdapter, table: GoldTable, execution: Execution):
        self.adapter, self.table, self.execution = adapter, table, execution

    _shown: int | None = None  # the mark of the stored table that it has before the run

    @property
    def plain(self) -> BaseRelation:
        """The copy."""
        return self.table.plain

    def keep(self, found: Changes | None) -> None:
        """Bring the copy up to date, or drop it once no option asks for it.

        Args:
            found: what this run has merged into the stored table, if anything.
        """
        options = self.table.model.options
        if not options.keeps_plain:
            return self._drop()
        step = self._next_step(found)
        if step == "remake":
            self.adapter.remove_table(self.plain)
        if step not in ("replace", "remake"):
            self._switch_feed()
        if step in ("replace", "remake"):
            self.adapter.expect_rows_since(self.table.storage, None)
            if step == "remake" or not (options.change_feed and self._complete_columns()):
                self._replace()
            else:
                self._merge_differences(None)
                self._note_rules()
        elif step == "merge" and options.change_feed:
            self._merge_differences(found)
        elif step == "merge":
            self.adapter.stage("plain_rows", sql.rows_of_touched_keys(self.table, found))
            self._write(sql.merge_plain_rows(self.table, found), is_staged=True)
        elif step == "mark":
            self._write(self.table.commit_only_plain)

    def _replace(self) -> None:
        """Write the copy whole; its feed begins with that."""
        self.adapter.create_schema(self.plain)
        is_fed = self.table.model.options.change_feed
        self._write(self._whole(self._new_feed if is_fed else {}))

    def _whole(self, further: dict[str, str]) -> str:
        """The statement that writes the copy whole.

        Deletion vectors, clustering and the like are features that a reader may not have.

        Args:
            further: properties of the copy, as those of a change feed.
        """
        properties = {"delta.enableDeletionVectors": "false", KIND: PLAIN_TABLE, **further}
        if digest := self.table.judged_rows.digest:
            properties[RULES] = digest
        return (
            f"create or replace table {self.plain}\nusing delta\n{settings(properties)}\n"
            f"as select * from {self.table.view}"
        )

    def _merge_differences(self, found: Changes | None) -> None:
        """Write what of the touched keys, or of all, the copy has otherwise, and nothing else."""
        self.adapter.stage("plain_rows", sql.rows_that_differ(self.table, self._rows, found))
        self._write(sql.merge_rows_that_differ(self.table, self._rows, found), is_staged=True)

    @property
    def _rows(self) -> FeedRows:
        return FeedRows(self.table.model)

    @property
    def _new_feed(self) -> dict[str, str]:
        return self._rows.properties(uuid4().hex[:12])

    def _switch_feed(self) -> None:
        """Begin a feed with the rows as they are, or end it, as the option says now."""
        is_fed = self.table.model.options.change_feed
        if is_fed != has_feed(self.adapter.properties(self.plain)):
            properties = self._new_feed if is_fed else {ENABLED: "false"}
            self.adapter.execute(set_properties(str(self.plain), properties))

    def _note_rules(self) -> None:
        """Note by which rules the copy is made, where they are others."""
        digest = self.table.judged_rows.digest
        if self._rules_of_copy() != digest:
            self.adapter.execute(set_properties(str(self.plain), {RULES: digest}))

    def _rules_of_copy(self) -> str:
        return self.adapter.properties(self.plain).get(RULES, "")

    def _complete_columns(self) -> bool:
        """Give the copy the columns that it lacks, and tell whether its feed can go on."""
        if not self.adapter.exists(self.plain):
            return False
        properties, definitions = self.adapter.properties(self.plain), self._rows.definitions
        if not has_feed(properties) or properties.get(IDENTITY) != self._rows.identity_names:
            return False
        stored = types_of_schema(self.adapter.snapshot(self.plain).schema().json())
        shown = types_of_columns(self.adapter.spark, definitions)
        lacking = columns_lacking(stored, shown)
        if lacking:
            self.adapter.execute(add_columns(str(self.plain), definitions, lacking))
        return lacking is not None

    def _drop(self) -> None:
        folder = folder_of(self.plain)
        if folder.is_dir() and self.adapter.exists(self.plain) and self._is_copy():
            tell(f"{self.plain} is dropped: the options plain_table and change_feed are off")
            self.adapter.remove_table(self.plain)

    def _is_copy(self) -> bool:
        return self.adapter.properties(self.plain).get(KIND) == PLAIN_TABLE

    def _next_step(self, found: Changes | None) -> Step:
        exists = self.adapter.exists(self.plain)
        if exists and not self._is_copy():
            raise DbtRuntimeError(
                f"{self.plain} was not made by the option plain_table of {self.plain.identifier}, "
                "which would overwrite it. Give that table another name, or switch the option off."
            )
        stored = self.adapter.mark(self.table.storage, EVENTS)
        now, read = stored.number, self.table.read
        before = None if read is None else mark_of(read, now)
        copied = self.adapter.mark(self.plain, self._transaction) if exists else UNREAD
        shown = copied.number if copied.number >= 0 else None
        is_of_other = None not in (copied.source, stored.noted_in) and (
            shown == now and copied.source != stored.noted_in
        )
        if copied.went_back or is_of_other:
            return "remake"  # Delta would skip a write with the same mark
        changes, truncates = (found.count, found.truncates) if found else (0, False)
        self._shown = shown
        same = not exists or self._rules_of_copy() == self.table.judged_rows.digest
        return next_step(shown, before, now, changes, truncates, same)

    @property
    def _transaction(self) -> str:
        """The name under which the copy notes what it has of the stored table."""
        return transaction_of(self.adapter.snapshot(self.table.storage).metadata().id())

    def _write(self, statement: str, is_staged: bool = False) -> None:
        """Run a statement that writes the copy; with its rows commits what it has of the table."""
        mark = self.adapter.mark(self.table.storage, EVENTS)
        values = settings_of_transaction(self._transaction, mark.number, is_staged=is_staged)
        if self._shown == mark.number:
            # Other rules show other rows of the same changes, and Delta would skip the write.
            values = {name: value for name, value in values.items() if name not in POSITION}
        elif mark.noted_in:
            values[USER_METADATA] = note_of({self._transaction: (mark.number, mark.noted_in)})
        with set_for_one_statement(self.adapter.spark, values):
            self.adapter.execute(statement, auto_begin=True)
