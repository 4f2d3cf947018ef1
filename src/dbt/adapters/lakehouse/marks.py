"""Read how far the tables of a lakehouse have read each other, and note it with each write."""

from contextlib import suppress
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse

from cdc_lakehouse.delta.commit import set_for_one_statement, settings_of_commit
from cdc_lakehouse.delta.log import is_table, last_transactions
from cdc_lakehouse.delta.past import UNREAD, Mark, Unknown, mark_of_rows, past_of
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.rebuilds import why_not_of_past
from dbt.adapters.lakehouse.tables import Tables, folder_of


class Marks:
    """The notes of tables on how far they have read a source: Delta transactions, with the rows."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        # Why bronze.messages is not the one that was read, as found in this run.
        self._found: dict[tuple[Any, ...], str | None] = {}

    def mark(self, relation: BaseRelation, name: str) -> Mark:
        """Return how far the rows of a table have read what it notes under a name."""
        marks = last_transactions(folder_of(relation))
        if marks is None and not is_table(folder_of(relation)):
            return UNREAD
        if marks is None:
            # Delta has to read the whole log for it.
            mark = self.tables.snapshot(relation).transactions().get(name)
            newest = mark.get() if mark.isDefined() else -1
        else:
            newest = marks.get(name, -1)
        return mark_of_rows(folder_of(relation), name, newest)

    def has_changed_since(self, mark: Mark, relation: BaseRelation, name: str) -> bool:
        """Tell whether rows of a table were changed after the commit with its `mark` of a name.

        A RESTORE changes rows, compaction does not; maintenance says the mark again. Where that
        commit has left the log, those that are there tell, if one of them says the mark.
        """
        is_said_again = False
        with suppress(Unknown):
            for commit in past_of(folder_of(relation)):
                found = commit.mark(name, mark.newest)
                if found and found.noted_in:
                    return False
                if '"dataChange":true' in commit.text:
                    return True
                is_said_again |= found is not None
        return not is_said_again

    def why_not_of_past(self, mark: Mark, events: Mark) -> str | None:
        """Return why the changes that a gold table has are not of the past of the change log.

        Args:
            mark, events: how far the table and the change log have read bronze.messages.
        """
        why = why_not_of_past(mark, events)
        if why is not None or mark.version is None or mark.is_at(events):
            return why
        read = mark.version, mark.source
        if read not in self._found:
            self._found[read] = change_log.found_of_messages(mark)
        found = self._found[read]
        return found and f"it has read commit {mark.version} of bronze.messages, which {found}"

    def version_read(self, relation: BaseRelation, name: str) -> int:
        """Return up to which version of `name` a table has read; -1 if it has not, or is not there.

        For data tests, which may be compiled before there is a table.
        """
        if not is_table(folder_of(relation)):
            return -1
        version = self.mark(relation, name).version
        return -1 if version is None else version

    def write_and_commit(
        self,
        statement: str,
        relation: BaseRelation,
        source: str,
        version: int,
        rebuild: bool = False,
        row_by_row: bool = False,
        is_staged: bool = False,
        commit: str | None = None,
    ) -> AdapterResponse:
        """Run the statement that writes a table; with its rows commits how far it has read.

        No other statement can come between the two; `settings_of_commit` says what they are.
        """
        mark = self.mark(relation, source)
        again = rebuild or mark.went_back  # it reads the same versions again
        values = settings_of_commit(
            source, version, mark.newest, again, row_by_row, is_staged, commit
        )
        with (
            self.tables.step("writes and commits"),
            set_for_one_statement(self.tables.spark, values),
        ):
            response: AdapterResponse = self.tables.adapter.execute(statement, auto_begin=True)[0]
        return response
