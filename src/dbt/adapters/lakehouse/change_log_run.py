"""Bring the change log up to date: what is done in which order. Macros of dbt render the SQL."""

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.statements import set_properties
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.new_messages import NewMessages
from cdc_lakehouse.engine.reprocessed import PROPERTY as RESETTLED
from cdc_lakehouse.engine.window import Window
from dbt.adapters.lakehouse.tables import Macros, TablesAdapter

OUTCOMES = "select * from outcomes"


class ChangeLogRun:
    """A run of the change log: the window of bronze.messages that it reads, and the model's SQL."""

    def __init__(
        self,
        adapter: TablesAdapter,
        target: BaseRelation,
        window: Window,
        sql: str,
        macros: Macros,
    ):
        self.adapter, self.target, self.window = adapter, target, window
        self.sql, self.macros = sql, macros

    @property
    def messages(self) -> BaseRelation:
        """What the log is made of."""
        return self.adapter.named(change_log.MESSAGES)

    def run(self) -> None:
        """Append the outcomes of new messages, in the commit that notes how far bronze is read."""
        build = self.window.build
        if build.said:
            self.macros["log"](build.said, info=True)
        if self.window.preparation:
            self.adapter.execute(self.window.preparation)
        with self.adapter.step("finds new messages"):
            found = change_log.find_new_messages(self.adapter.spark, self.window)
        if found is None:
            self.macros["nothing_new"]()
        else:
            self._process(found)

    def _process(self, found: NewMessages) -> None:
        self._name_messages(found)
        spark, names = self.adapter.spark, self.macros["names_of_dropped_table"]()
        with self.adapter.step("finds the latest changes"):
            known = change_log.find_latest_changes(spark, self.window, found, names)
        # To write few rows takes less time than to plan the formats once more.
        is_staged = self.adapter.has_little_since(self.messages, self.window.read)
        if is_staged:
            self.adapter.stage("outcomes", self.sql, row_by_row=True)
        else:
            self.adapter.name_query("outcomes", self.sql)
        self.macros["get_assert_columns_equivalent"](OUTCOMES)
        if self.adapter.reads_a_part_only(self.sql):
            self.macros["nothing_written"]()
            return
        self._write(found)
        with self.adapter.step("counts what was processed"):
            staged = "outcomes" if is_staged else None
            change_log.keep_latest_changes(spark, self.window, known, names, staged)

    def _name_messages(self, found: NewMessages) -> None:
        """Make the temporary views that the formats' models read.

        What is new of bronze, and what earlier runs made of it.
        """
        target, window, macros = self.target, self.window, self.macros
        self.adapter.name_query("new_messages", macros["new_messages"](target, found))
        if found.resettles:
            self.adapter.stage("resettled_rows", macros["rows_settled_before"](target, found))
        shards = macros["shards_settled_before"](target, window, found)
        self.adapter.name_query("settled_shards", shards)

    def _write(self, found: NewMessages) -> None:
        window = self.window
        if window.build.rebuild:
            # Gold has perhaps not heeded yet which source tables had changes processed again.
            kept = self.adapter.properties(self.target).get(RESETTLED, "{}")
            statement = window.replace(OUTCOMES, {RESETTLED: kept})
        elif found.resettles:
            self._note_resettled_tables()
            statement = self.macros["resettle_messages"](self.target, OUTCOMES)
        else:
            statement = window.insert(OUTCOMES)
        self.macros["write_and_commit"](
            statement,
            self.target,
            change_log.MESSAGES,
            window.last,
            rebuild=window.build.rebuild,
            row_by_row=True,
        )

    def _note_resettled_tables(self) -> None:
        """Note which source tables lose changes, or get other ones, before it happens.

        Gold cannot take back what it has merged, so its tables of these are built anew. It is noted
        before, for one commit cannot do both; gold heeds it once silver has come so far.
        """
        tables = self.macros["source_tables_settled_before"]()
        properties = change_log.properties_of_resettling(self.adapter.spark, self.window, tables)
        if properties:
            self.adapter.execute(set_properties(self.window.table, properties))
