"""Summaries: views that aggregate a growing table, and keep their sums of its older rows."""

import hashlib
from contextlib import ExitStack
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.kept import SUFFIX, keeps_nothing
from cdc_lakehouse.delta.log import bytes_since
from cdc_lakehouse.delta.past import identifier_of, keeps_rows_since
from cdc_lakehouse.delta.statements import create_table, names
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.locks import hold
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.tables import Tables, folder_of

# The property of what a summary keeps that tells by which query it was summed up.
DEFINITION = "cdc_lakehouse.summary"
# To read less takes a query less time than to keep it takes a run, a second for each summary.
MUCH = 32 << 20


class Summaries:
    """The summaries of a project, and the tables in which they keep rows."""

    def __init__(self, tables: Tables, marks: Marks) -> None:
        self.tables, self.marks = tables, marks

    def kept_by(self, summary: BaseRelation) -> BaseRelation:
        """Return the table in which a summary keeps rows."""
        return self.tables.named(f"{summary.schema}.{summary.identifier}{SUFFIX}")

    def prepare(
        self, summary: BaseRelation, sql: str, columns: list[dict[str, Any]], is_new: bool
    ) -> None:
        """Make the table in which a summary keeps rows, an empty one.

        Args:
            sql: the query of the summary.
            columns: those of the summary: name, data_type, description.
            is_new: whether the summary is made, and may be another than before.
        """
        kept, definition = self.kept_by(summary), hashlib.md5(sql.encode()).hexdigest()
        if self.tables.exists(kept):
            if not is_new or (
                self.tables.properties(kept).get(DEFINITION) == definition
                and not self.tables.changed_columns(kept, columns)
            ):
                return
            self.tables.remove_table(kept)
        self.tables.adapter.execute(create_table(str(kept), columns, {DEFINITION: definition}))

    def keep(
        self,
        summary: BaseRelation,
        source: BaseRelation,
        sql: str,
        columns: list[str],
        much: int | None,
    ) -> None:
        """Let a summary keep what it shows, if much has come to its source since it last did.

        Readers then read little. Kept sums of rows that are no longer there are deleted.

        Args:
            sql: the query of the summary.
            columns: the names of its columns.
            much: how many bytes of files of the source are much; None takes MUCH.
        """
        if self.tables.reads_a_part_only(sql):
            return
        kept, folder = self.kept_by(summary), folder_of(source)
        counted = None
        if not keeps_nothing(folder_of(kept)):
            mark = self.marks.mark(kept, source.render())
            counted = mark.version
            if counted is None or not keeps_rows_since(folder, counted, mark.source):
                self.tables.adapter.execute(f"delete from {kept}")
                counted = None
        size = bytes_since(folder, counted)
        if size is not None and size <= (MUCH if much is None else much):
            return
        with ExitStack() as stack:
            if source.schema == "bronze":
                try:
                    stack.enter_context(hold("bronze", "The next run keeps what has come."))
                except LakehouseError:  # its rows are being changed
                    return
            version = self.tables.snapshot(source).version()
            listed = names(columns)
            self.marks.write_and_commit(
                f"insert overwrite {kept} ({listed}) "
                f"select /*+ repartition(1) */ {listed} from {summary}",
                kept,
                source.render(),
                version,
                rebuild=counted is None,
                commit=identifier_of(folder, version),
            )
