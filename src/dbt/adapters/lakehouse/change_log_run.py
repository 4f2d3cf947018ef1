"""Bring the change log up to date, step by step."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from pyspark.sql import Row

from cdc_lakehouse.delta.append import Append
from cdc_lakehouse.delta.commit import ROW_BY_ROW, set_for_one_statement
from cdc_lakehouse.delta.high_water_mark import mark_of
from cdc_lakehouse.delta.kept import forget
from cdc_lakehouse.delta.statements import comments_of, set_properties
from cdc_lakehouse.engine import change_log, duplicates
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.latest_changes import LatestChanges
from cdc_lakehouse.engine.new_messages import NewMessages
from cdc_lakehouse.engine.registry import learn_schemas
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.reprocessed import PROPERTY as REPROCESSED
from cdc_lakehouse.engine.steps import NOT_WRITTEN, NOTHING_NEW, Commit, Name, Stage
from cdc_lakehouse.engine.window import Window
from cdc_lakehouse.routes import read_routes
from dbt.adapters.lakehouse.execution import Execution
from dbt.adapters.lakehouse.extracts import Extracts
from dbt.adapters.lakehouse.protection import ProtectedColumns
from dbt.adapters.lakehouse.tables import INFER_NOTHING, tell

RESULTS = "select * from results"


def naming_messages(
    target: BaseRelation, window: Window, found: NewMessages
) -> Iterator[Name | Stage]:
    """Yield the steps that name what the formats' models read.

    What is new of bronze, and what earlier runs made of it.
    """
    yield Name("new_messages", sql.new_messages(target, found))
    if found.reprocesses:
        yield Stage("reprocessed_rows", sql.rows_processed_before(target, found))
    yield Name("processed_shards", sql.shards_processed_before(target, window, found))


class ChangeLogRun:
    """A run of the change log: the window of bronze.messages that it reads, and the model's SQL."""

    def __init__(
        self,
        execution: Execution,
        protection: ProtectedColumns,
        target: BaseRelation,
        window: Window,
        results: str,
    ):
        self.execution, self.protection = execution, protection
        self.tables, self.marks = execution.tables, execution.marks
        self.target, self.window, self.sql = target, window, results
        self.extracts = Extracts(self.tables, target, window)

    def run(self) -> None:
        """Append the results of new messages, in the commit that notes how far bronze is read."""
        build = self.window.build
        if build.said:
            tell(build.said)
        self._prepare_table()
        with self.tables.step("finds new messages"):
            found = change_log.find_new_messages(self.tables.spark, self.window)
        if found is None:
            self.execution.finish(NOTHING_NEW)
        else:
            self._process(found)

    def _prepare_table(self) -> None:
        """Make the table, or give it the columns that it lacks and mark the rows that it has."""
        tables, table = self.tables, self.window.table
        if duplicates.COLUMN in self.window.build.added:
            # If this run is killed before it marks them, the next run does.
            tables.adapter.execute(set_properties(table, {duplicates.UNMARKED: "true"}))
        if self.window.preparation:
            tables.adapter.execute(self.window.preparation)
        if tables.properties(self.target).get(duplicates.UNMARKED) == "true":
            forget(tables.spark, EVENTS)
            tables.adapter.execute(duplicates.marking(table))
            tables.adapter.execute(set_properties(table, {duplicates.UNMARKED: "false"}))
        if self.window.build.done is not None:
            self._protect_stored_rows(self.window.build.done)

    def _protect_stored_rows(self, done: int) -> None:
        """Apply to stored rows the lines of protected columns below those that are done.

        One commit has the rows and the lines that count for them, so nothing is hashed twice.
        """
        forget(self.tables.spark, EVENTS)
        rows = sql.protected_rows(self.target, "silver", self.protection.lines(), done)
        kept = {REPROCESSED: self.tables.properties(self.target).get(REPROCESSED, "{}")}
        statement = self._replace(self.window.typed(rows), kept)
        read = self.marks.mark(self.target, change_log.MESSAGES).source
        self._write(statement, self.window.read, rebuild=True, commit=read)

    def _process(self, found: NewMessages) -> None:
        for step in naming_messages(self.target, self.window, found):
            self.execution.do(step)
        with self.tables.step("asks for schemas"):
            root = Path(self.tables.adapter.config.project_root)
            learn_schemas(self.tables.spark, read_routes(root), root)
        spark, names = self.tables.spark, sql.names_of_dropped_table()
        with self.tables.step("finds the latest changes"):
            known = change_log.find_latest_changes(spark, self.window, found, names)
        self.extracts.place(self.sql, found.reprocesses)
        if found.reprocesses:
            self.tables.stage("results", self.sql, row_by_row=True)
        else:
            self.tables.name_query("results", self.sql)
        self.execution.check_contract(RESULTS)
        if self.tables.reads_a_part_only(self.sql):
            self.execution.finish(NOT_WRITTEN)
            return
        if found.reprocesses or self.window.build.rebuild:
            self._rewrite(found)
            processed = self._count(self.window.table)
        else:
            processed = self._append(known)
        with self.tables.step("keeps the latest changes"):
            change_log.keep_latest_changes(spark, self.window, known, processed)

    def _append(self, known: LatestChanges) -> list[Row]:
        """Append the results, of which none was processed before; return what they come to."""
        tables, spark, window = self.tables, self.tables.spark, self.window
        rows = window.typed(RESULTS)
        self.execution.write(rows)
        append = self._written(rows)
        if self.extracts.move("written_rows"):
            append = self._written(rows)  # the files before are no part of the table
        processed = self._count("written_rows")
        with tables.step("finds duplicates"), set_for_one_statement(spark, ROW_BY_ROW):
            earlier = change_log.earlier_duplicates(processed, known)
            duplicates.mark_duplicates(spark, append, "written_rows", window.table, earlier)
        with tables.step("commits"):
            mark = self.marks.mark(self.target, change_log.MESSAGES)
            number = mark_of(window.last, mark.newest, mark.went_back)
            append.commit(change_log.MESSAGES, number, window.commit)
        tables.forget_snapshots()
        self.execution.store(AdapterResponse("OK"))
        return processed

    def _written(self, rows: str) -> Append:
        """Write rows to files, of which the view written_rows tells, and commit nothing."""
        append = Append(self.tables.spark, self.window.path)
        settings = set_for_one_statement(self.tables.spark, INFER_NOTHING | ROW_BY_ROW)
        with self.tables.step("writes"), settings:
            append.write(self.tables.spark.sql(rows))
        append.rows_with_files().createOrReplaceTempView("written_rows")
        return append

    def _count(self, rows: str) -> list[Row]:
        with self.tables.step("counts what was processed"):
            names = sql.names_of_dropped_table()
            return change_log.count_processed(self.tables.spark, self.window, names, rows)

    def _rewrite(self, found: NewMessages) -> None:
        """Build the log again, or give messages that were processed before their new results."""
        window = self.window
        forget(self.tables.spark, EVENTS)
        if window.build.rebuild:
            # Gold has perhaps not heeded yet which source tables had changes processed again.
            kept = self.tables.properties(self.target).get(REPROCESSED, "{}")
            rows = duplicates.with_duplicates(RESULTS)
            statement = self._replace(rows, {REPROCESSED: kept, **self.extracts.properties})
        else:
            self._note_reprocessed_tables()
            processed = window.typed(f"select * from {window.table}")
            rows = duplicates.with_other_rows(window.typed(RESULTS), processed, "reprocessed_rows")
            statement = sql.reprocess_messages(self.target, rows)
        self._write(statement, window.last, window.build.rebuild, window.commit)

    def _replace(self, rows: str, properties: Mapping[str, str]) -> str:
        """The statement that rebuilds the log; its columns keep their comments."""
        self.tables.name_query("rebuilt_rows", rows, comments_of(self.window.columns))
        return self.window.replace("select * from rebuilt_rows", properties)

    def _write(
        self, statement: str, version: int | None, rebuild: bool, commit: str | None
    ) -> None:
        """Run the statement that writes the log, and commit with it how far bronze is read."""
        assert version is not None  # it has rows, and so it has read something
        target, source = self.target, change_log.MESSAGES
        step = Commit(statement, target, source, version, rebuild, commit=commit)
        self.execution.commit(step, row_by_row=True)

    def _note_reprocessed_tables(self) -> None:
        """Note which source tables lose changes, or get other ones, before it happens.

        Gold cannot take back what it has merged, so its tables of these are rebuilt. It is noted
        before, for one commit cannot do both; gold heeds it once silver has come so far.
        """
        tables = sql.source_tables_processed_before()
        properties = change_log.properties_of_reprocessing(self.tables.spark, self.window, tables)
        if properties:
            self.tables.adapter.execute(set_properties(self.window.table, properties))
