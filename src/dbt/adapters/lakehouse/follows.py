"""Run the materialization `follows`; `cdc_lakehouse.engine.follows` decides what it does."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.delta.past import UNREAD
from cdc_lakehouse.engine.change_feed import CannotGoOn, FeedReading
from cdc_lakehouse.engine.follows import (
    Followed,
    Mart,
    Read,
    why_mart_is_rebuilt,
    why_not_followed,
)
from cdc_lakehouse.engine.follows_model import read_mart, refuse_columns, refuse_types
from cdc_lakehouse.engine.follows_run import QUERY, SOURCE, MartRun
from cdc_lakehouse.engine.gold_relations import plain_of
from cdc_lakehouse.engine.rendering import sql as statements
from cdc_lakehouse.engine.steps import NOT_WRITTEN, NOTHING_NEW, follow
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jvm import java_frame, jvm_of
from dbt.adapters.lakehouse.change_feed import Feeds
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.execution import Context, Execution
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.tables import Tables
from dbt.adapters.lakehouse.views import Views

Nodes = Mapping[str, Mapping[str, Any]]
# Parts of a query that make the rows of a key depend on the time of a run or on other keys, by the
# names of Spark's patterns in a plan.
REFUSED = {
    "CURRENT_LIKE": "the time, user or database of the run",
    "LIMIT": "limit",
}


class Follows:
    """Marts that follow gold tables."""

    def __init__(self, tables: Tables, marks: Marks, views: Views, feeds: Feeds) -> None:
        self.tables, self.marks, self.views, self.feeds = tables, marks, views, feeds

    def run(
        self,
        node: Mapping[str, Any],
        relation: BaseRelation,
        sql: str,
        nodes: Nodes,
        is_asked: bool,
        context: Context,
    ) -> bool:
        """Write the rows of a mart that changes of its gold tables touch, or all; tell which.

        Args:
            node: the model as dbt has it.
            nodes: those of dbt's graph.
            is_asked: whether a person asks to rebuild it.
            context: that in which dbt renders the model.

        Returns:
            Whether it was built.
        """
        execution = Execution(self.tables, self.marks, self.views, context)
        with short_errors():
            mart = read_mart(node, relation, sql, nodes)
            if self.tables.reads_a_part_only(sql):
                self.tables.name_query(QUERY, sql)
                execution.finish(NOT_WRITTEN)
                return False
            run = self._plan(mart, nodes, is_asked)
            if run.is_up_to_date:
                execution.finish(NOTHING_NEW)
                return False
            run = self._checked(run)
            follow(run.steps(), execution.do)
        return run.is_build

    def _plan(self, mart: Mart, nodes: Nodes, is_asked: bool) -> MartRun:
        """Decide what is read.

        The query may find what has come since; the next run reads the changes of that again.
        """
        if not self.tables.exists(mart.relation):
            return MartRun(mart, UNREAD, self._snapshots(mart, nodes), is_new=True)
        mark = self.marks.mark(mart.relation, SOURCE)
        kept = None if mark.is_lost else Read.kept(mark.source)
        has_other = self.marks.has_changed_since(mark, mart.relation, SOURCE)
        why = why_mart_is_rebuilt(mart, kept, has_other, is_asked)
        if kept is None or why is not None:
            return MartRun(mart, mark, self._snapshots(mart, nodes), is_new=False, why=why)
        try:
            readings = {f.name: self._reading(mart, f, nodes, kept) for f in mart.followed}
            found = (why_not_followed(f, kept, readings[f.name]) for f in mart.followed)
            why = next(filter(None, found), None)
        except CannotGoOn as error:
            why = error.why
        if why is not None:
            readings = self._snapshots(mart, nodes)
        return MartRun(mart, mark, readings, is_new=False, why=why)

    def _snapshots(self, mart: Mart, nodes: Nodes) -> dict[str, FeedReading]:
        return {each.name: self._reading(mart, each, nodes, None) for each in mart.followed}

    def _reading(
        self, mart: Mart, followed: Followed, nodes: Nodes, kept: Read | None
    ) -> FeedReading:
        since = kept.since(followed) if kept else None
        return self.feeds.reading_of_feed(followed.relation, nodes.values(), since, mart.name)

    def _checked(self, run: MartRun) -> MartRun:
        """Look at the queries as Spark understands them, before any of them runs."""
        mart, tables = run.mart, self.tables
        plains = [plain_of(each.relation) for each in mart.followed]
        tables.compile_queries(not all(tables.has_little_since(each, None) for each in plains))
        self._name_query(mart, run.query)
        found = tables.columns_of_query(QUERY).types
        refuse_columns(mart, found)
        for followed in mart.followed:
            touched = statements.touched_values(followed, run.readings[followed.name])
            try:
                tables.name_query(followed.touched, touched)
            except DbtRuntimeError as error:
                raise LakehouseError(
                    f"{mart.name}: option follows: {followed.values} of {followed.name}: "
                    f"{error.msg}"
                ) from None
            refuse_types(mart, followed, found, tables.columns_of_query(followed.touched).types)
        if not run.is_build and found != tables.columns_of_query(str(mart.relation)).types:
            run = replace(run, why="its columns have changed")
        return replace(run, columns=tuple(tables.spark.table(QUERY).columns))

    def _name_query(self, mart: Mart, sql: str) -> None:
        """Give the query of a mart its name.

        Raises:
            LakehouseError: it has what no key of a mart has alone.
        """
        self.tables.name_query(QUERY, sql)
        spark = self.tables.spark
        plan = java_frame(spark.table(QUERY)).queryExecution().analyzed()
        patterns = jvm_of(spark).org.apache.spark.sql.catalyst.trees.TreePattern
        found = [
            said
            for name, said in REFUSED.items()
            if plan.containsPattern(getattr(patterns, name)())
        ]
        found += [] if plan.deterministic() else ["a random value"]
        if found:
            raise LakehouseError(
                f"The SQL of {mart.name} has {found[0]}: its rows would differ from those of a "
                "full build. Leave it out, or let the mart be materialized='table'."
            )
