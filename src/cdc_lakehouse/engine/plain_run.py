"""Keep gold_plain.<name>: the rows that a gold model shows, as a table for every Delta reader.

A run updates it in a second commit, after that of the stored table. If a run ends between the two,
the next run writes the whole table or, if it keeps a change feed, the rows that differ.
"""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.commit import POSITION, USER_METADATA, settings_of_transaction
from cdc_lakehouse.delta.high_water_mark import mark_of
from cdc_lakehouse.delta.past import note_of
from cdc_lakehouse.delta.statements import add_columns, set_properties, settings
from cdc_lakehouse.engine.change_feed import ENABLED, IDENTITY, FeedRows, has_feed
from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.plain_table import KIND as PLAIN_TABLE
from cdc_lakehouse.engine.plain_table import Need, need_of, transaction_of
from cdc_lakehouse.engine.rebuilds import KIND
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.steps import (
    Execute,
    Expect,
    LookAt,
    Plan,
    Remove,
    Say,
    Stage,
    TableState,
)
from cdc_lakehouse.engine.validated_rows import RULES
from cdc_lakehouse.errors import LakehouseError


class PlainRun:
    """The part of a run that keeps the copy of a gold table for other readers.

    Args:
        found: what the run has merged into the stored table, if anything.
    """

    def __init__(self, table: GoldTable, found: Changes | None):
        self.table, self.found = table, found

    @property
    def plain(self) -> BaseRelation:
        """The copy."""
        return self.table.plain

    @property
    def _rows(self) -> FeedRows:
        return FeedRows(self.table.model)

    def steps(self) -> Plan[None]:
        """Bring the copy up to date, or drop it once no option asks for it."""
        options = self.table.model.options
        if not options.keeps_plain:
            yield from self._drop()
            return
        stored: TableState = yield LookAt(self.table.storage, EVENTS)
        name = transaction_of(stored.identifier)
        copy: TableState | None = yield LookAt(self.plain, name, tuple(self._rows.definitions))
        need = self._need(stored, copy)
        if need == "remake":
            yield Remove(self.plain)
            copy = None
        write = partial(self._write, name, stored, copy)
        if need in ("replace", "remake"):
            yield Expect(self.table.storage)
            if copy and self._keeps_feed(copy):
                yield from self._complete_columns(copy)
                yield from self._merge_differences(None, write)
                yield from self._note_rules(copy)
            else:
                yield Execute(f"create schema if not exists {self.plain.schema}")
                yield write(self._whole)
            return
        if copy:
            yield from self._switch_feed(copy)
        if need == "merge" and options.change_feed:
            yield from self._merge_differences(self.found, write)
        elif need == "merge":
            yield Stage("plain_rows", sql.rows_of_touched_keys(self.table, self.found))
            yield write(sql.merge_plain_rows(self.table, self.found), is_staged=True)
        elif need == "mark":
            yield write(self.table.commit_only_plain)

    def _drop(self) -> Plan[None]:
        copy = yield LookAt(self.plain)
        if copy and _is_copy(copy):
            yield Say(f"{self.plain} is dropped: the options plain_table and change_feed are off")
            yield Remove(self.plain)

    def _need(self, stored: TableState, copy: TableState | None) -> Need:
        """The kind of write that brings the copy up to the stored table."""
        if copy and not _is_copy(copy):
            raise LakehouseError(
                f"{self.plain} was not made by the option plain_table of {self.plain.identifier}, "
                "which would overwrite it. Give that table another name, or switch the option off."
            )
        now, read, found = stored.mark.number, self.table.read, self.found
        is_of_other = copy and (
            None not in (copy.mark.source, stored.mark.noted_in)
            and _shown(copy) == now
            and copy.mark.source != stored.mark.noted_in
        )
        if copy and (copy.mark.went_back or is_of_other):
            return "remake"  # Delta would skip a write with the same mark
        return need_of(
            _shown(copy),
            None if read is None else mark_of(read, now),
            now,
            found.count if found else 0,
            bool(found and found.truncates),
            not copy or (_rules_of(copy) == self.table.validated_rows.digest and self._fits(copy)),
        )

    def _fits(self, copy: TableState) -> bool:
        """Whether the copy has the types of the table, which may have been widened in place."""
        return not self.table.model.options.type_widening or copy.lacking is not None

    def _write(
        self,
        name: str,
        stored: TableState,
        copy: TableState | None,
        statement: str,
        is_staged: bool = False,
    ) -> Execute:
        """The statement that writes the copy; with its rows it commits what it has of the table."""
        mark = stored.mark
        values = settings_of_transaction(name, mark.number, is_staged=is_staged)
        if _shown(copy) == mark.number:
            # Other rules show other rows of the same changes, and Delta would skip the write.
            values = {key: value for key, value in values.items() if key not in POSITION}
        elif mark.noted_in:
            values[USER_METADATA] = note_of({name: (mark.number, mark.noted_in)})
        return Execute(statement, values=values)

    @property
    def _whole(self) -> str:
        """The statement that writes the copy whole; its feed, if it has one, begins with that.

        Deletion vectors, clustering and the like are features that a reader may not have.
        """
        properties = {"delta.enableDeletionVectors": "false", KIND: PLAIN_TABLE}
        if self.table.model.options.change_feed:
            properties |= self._new_feed
        if digest := self.table.validated_rows.digest:
            properties[RULES] = digest
        return (
            f"create or replace table {self.plain}\nusing delta\n{settings(properties)}\n"
            f"as select * from {self.table.view}"
        )

    def _merge_differences(
        self, found: Changes | None, write: Callable[..., Execute]
    ) -> Plan[None]:
        """Write what of the touched keys, or of all, the copy has otherwise, and nothing else."""
        yield Stage("plain_rows", sql.rows_that_differ(self.table, self._rows, found))
        yield write(sql.merge_rows_that_differ(self.table, self._rows, found), is_staged=True)

    @property
    def _new_feed(self) -> dict[str, str]:
        return self._rows.properties(uuid4().hex[:12])

    def _switch_feed(self, copy: TableState) -> Plan[None]:
        """Begin a feed with the rows as they are, or end it, as the option says now."""
        is_fed = self.table.model.options.change_feed
        if is_fed != has_feed(copy.properties):
            properties = self._new_feed if is_fed else {ENABLED: "false"}
            yield Execute(set_properties(str(self.plain), properties))

    def _keeps_feed(self, copy: TableState) -> bool:
        """Whether the feed of the copy can go on where the copy is written again."""
        return (
            self.table.model.options.change_feed
            and has_feed(copy.properties)
            and copy.properties.get(IDENTITY) == self._rows.identity_names
            and copy.lacking is not None
        )

    def _complete_columns(self, copy: TableState) -> Plan[None]:
        """Give the copy the columns that it lacks."""
        if copy.lacking:
            yield Execute(add_columns(str(self.plain), self._rows.definitions, copy.lacking))

    def _note_rules(self, copy: TableState) -> Plan[None]:
        """Note by which rules the copy is made, where they are others."""
        digest = self.table.validated_rows.digest
        if _rules_of(copy) != digest:
            yield Execute(set_properties(str(self.plain), {RULES: digest}))


def _is_copy(state: TableState) -> bool:
    return state.properties.get(KIND) == PLAIN_TABLE


def _rules_of(copy: TableState) -> str:
    return copy.properties.get(RULES, "")


def _shown(copy: TableState | None) -> int | None:
    """The mark of the stored table that the copy shows."""
    return copy.mark.number if copy and copy.mark.number >= 0 else None
