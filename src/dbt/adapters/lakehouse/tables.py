"""Ask Delta and Spark what every materialization needs to know of tables."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.column import Column
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.events.types import AdapterEventWarning
from dbt.adapters.spark.impl import SparkAdapter
from dbt.flags import get_flags
from dbt_common.events.base_types import EventLevel
from dbt_common.events.functions import fire_event, warn_or_error
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError
from py4j.java_gateway import JavaObject
from pyspark import StorageLevel
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.delta.commit import ROW_BY_ROW, set_for_one_statement
from cdc_lakehouse.delta.log import bytes_since, is_table, properties_of
from cdc_lakehouse.delta.log import snapshot as latest
from cdc_lakehouse.delta.statements import (
    constraints_without_effect,
    drop_columns,
    hold_to_constraints,
)
from cdc_lakehouse.delta.stored_columns import changed_columns, types_of_columns, types_of_schema
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.gold_relations import Function
from cdc_lakehouse.runtime.jvm import external_catalog
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import FEW_BYTES, compile_plans
from cdc_lakehouse.sql import identifier, quoted
from cdc_lakehouse.storage.files import Location, remove_tree
from dbt.adapters.lakehouse.connections import root_session, short_errors, step_of_node

# The names that dbt gives a reference of which it takes no row, or those of some time.
PARTS = ("_dbt_limit_subq", "_dbt_et_filter_subq")
# Spark infers what a query says of columns that are equal, to filter more, and of all columns for
# rows that are kept. Of columns that are made of each other it writes that out for each: half a
# minute for a history of ten columns.
INFERENCE = "spark.sql.constraintPropagation.enabled"
INFER_NOTHING = {INFERENCE: "false"}

logger = AdapterLogger("Lakehouse")


def tell(text: str) -> None:
    """Tell a person a sentence, as dbt tells what it does."""
    fire_event(Note(msg=text), level=EventLevel.INFO)


def folder_of(relation: BaseRelation) -> Location:
    """Return where the files of a table lie."""
    return warehouse_path(str(relation.schema), str(relation.identifier))


@dataclass(frozen=True)
class QueryColumns:
    """The types of the columns of a query, and their names in SQL, by their names in small letters.

    As dbt-core has them of a relation whose rows a unit test compares.
    """

    types: Mapping[str, str]
    quoted: Mapping[str, str]

    def named(self, rows: list[dict[str, Any]] | None) -> list[str]:
        """Return the columns that some rows name, as SQL names them; all without rows."""
        return [self.quoted[name.lower()] for name in (rows[0] if rows else self.types)]


class Tables:
    """The Delta tables of a lakehouse, and the queries of a run."""

    def __init__(self, adapter: SparkAdapter) -> None:
        self.adapter = adapter
        # Answers that hold for the rest of the run.
        self._answers: dict[str, list[Row]] = {}
        self._asked: set[str] = set()

    def is_first_time(self, subject: str) -> bool:
        """Tell whether this has not been asked of a subject in this run."""
        is_first = subject not in self._asked
        self._asked.add(subject)
        return is_first

    def reads_a_part_only(self, sql: str) -> bool:
        """Tell whether `ref` and `source` give a model less than there is: --empty, --sample.

        A table that then noted what it has read would never read the rest.
        """
        flags = get_flags()
        is_asked = bool(getattr(flags, "EMPTY", False) or getattr(flags, "SAMPLE", None))
        return is_asked or any(part in sql for part in PARTS)

    @property
    def spark(self) -> SparkSession:
        """The session of this thread."""
        session: SparkSession = self.adapter.connections.get_thread_connection().handle.handle.spark
        return session

    @property
    def catalog(self) -> JavaObject:
        """The metastore's tables and views, an object of Spark's; it takes no session of a thread.

        To open one takes longer than to see that a view is as it should be.
        """
        return external_catalog(root_session({}))

    def step(self, name: str) -> AbstractContextManager[None]:
        """Record a step of the node at work for `lakehouse timings`."""
        return step_of_node(name, self.spark)

    def rows(self, sql: str) -> list[Row]:
        """Return the rows of a query."""
        self._log("asks", sql)
        with self.step("asks"):
            return self.spark.sql(sql).collect()

    def _log(self, what: str, sql: str) -> None:
        logger.debug(f"{self.adapter.connections.get_thread_connection().name} {what}:\n{sql}")

    def rows_asked_once(self, sql: str) -> list[Row]:
        """Return the rows of a query that several models of a run ask, with the same answer."""
        if sql not in self._answers:
            self._answers[sql] = self.rows(sql)
        return self._answers[sql]

    def has_little_since(self, relation: BaseRelation, read: int | None) -> bool:
        """Tell whether little has come to a table after a version."""
        size = bytes_since(folder_of(relation), read)
        return size is not None and size <= FEW_BYTES

    def expect_rows_since(self, relation: BaseRelation, read: int | None) -> None:
        """Let queries be compiled; interpreted if little has come to a table after a version."""
        compile_plans(self.spark, not self.has_little_since(relation, read))

    def named(self, name: str) -> BaseRelation:
        """Return the relation of a name with its schema."""
        schema, identifier = name.split(".")
        return self.adapter.Relation.create(schema=schema, identifier=identifier)

    @property
    def events(self) -> BaseRelation:
        """The change log."""
        return self.named(EVENTS)

    def snapshot(self, relation: BaseRelation) -> JavaObject:
        """Return the table's latest state in Delta's log; nothing of it is a query.

        It is kept until the next statement of this thread, for Delta lists the whole log for each.
        """
        handle = self.adapter.connections.get_thread_connection().handle.handle
        name = relation.render()
        if name not in handle.snapshots:
            with short_errors():
                found = latest(handle.spark, folder_of(relation))
            if found.version() < 0:
                raise DbtRuntimeError(f"There is no table {name}.")
            handle.snapshots[name] = found
        return handle.snapshots[name]

    def forget_snapshots(self) -> None:
        """Look for new commits of tables when they are asked for again."""
        self.adapter.connections.get_thread_connection().handle.handle.snapshots.clear()

    def properties(self, relation: BaseRelation) -> dict[str, str]:
        """Return the properties of a table."""
        return properties_of(self.spark, self.snapshot(relation))

    def changed_columns(
        self, relation: BaseRelation, columns: Iterable[Mapping[str, Any]]
    ) -> list[str]:
        """Return how the columns of a table differ from those that it should have."""
        stored = types_of_schema(self.snapshot(relation).schema().json())
        return changed_columns(stored, types_of_columns(self.spark, columns))

    def is_known(self, relation: BaseRelation) -> bool:
        """Tell whether the metastore knows a table or view; dbt would list its whole schema."""
        return bool(self.catalog.tableExists(relation.schema, relation.identifier))

    def is_function(self, function: Function) -> bool:
        """Tell whether the metastore knows a function."""
        return bool(self.catalog.functionExists(function.schema, function.name))

    def exists(self, relation: BaseRelation) -> bool:
        """Tell whether there is a Delta table, and let its folder and the metastore agree on it.

        Delta commits a new table before the metastore learns of it, and refuses to make one where
        a folder is: after a kill in between, or without the old metastore, no run could go on. Nor
        could one where somebody has deleted the folder of a table that the metastore names. What a
        CREATE has left that committed nothing is removed.
        """
        folder = folder_of(relation)
        is_named = self.is_known(relation)
        if is_table(folder):
            if not is_named:
                location = quoted(str(folder))
                with short_errors():
                    self.spark.sql(f"create schema if not exists {relation.schema}")
                    self.spark.sql(f"create table {relation} using delta location {location}")
            return True
        if is_named:
            with short_errors():
                self.spark.sql(f"drop table if exists {relation}")
        if folder.is_dir():
            remove_tree(folder)
        return False

    def remove_table(self, relation: BaseRelation) -> None:
        """Drop a table and its files, also where the metastore holds the files for another's."""
        with short_errors():
            self.spark.sql(f"drop table {relation}")
        remove_tree(folder_of(relation))

    def say_not_written(self, relation: BaseRelation) -> None:
        """Say that a model that was given a part of its sources has been checked only."""
        said = "nothing is written with --empty or --sample; the next run reads what is new."
        tell(f"{relation}: {said}")

    def name_query(self, name: str, sql: str, comments: Mapping[str, str] | None = None) -> None:
        """Give a query a name, a temporary view of this thread that is analysed once.

        One that SQL makes is analysed at each mention.

        Args:
            comments: those that its columns get, which are then all that it has.
        """
        self._log(f"names {name}", sql)
        with self.step(f"names {name}"):
            frame = self.spark.sql(sql)
            if comments:
                columns = comments.items()
                frame = frame.select(
                    *(F.col(identifier(n)).alias(n, metadata={"comment": c}) for n, c in columns)
                )
            frame.createOrReplaceTempView(name)

    def stage(self, name: str, sql: str, row_by_row: bool = False) -> None:
        """Run a query and keep its rows, as the temporary view `name` of this thread.

        A write plans its source twice, a MERGE many times; that of staged rows is nothing.

        Args:
            row_by_row: hold one row in memory, as of messages that may fill it.
        """
        self._log(f"stages as {name}", sql)
        self.forget_snapshots()
        values = INFER_NOTHING | (ROW_BY_ROW if row_by_row else {})
        level = StorageLevel.DISK_ONLY if row_by_row else StorageLevel.MEMORY_AND_DISK
        with self.step(f"stages {name}"), set_for_one_statement(self.spark, values):
            rows = self.spark.sql(sql).localCheckpoint(storageLevel=level)
            rows.createOrReplaceTempView(name)

    def name_rows(self, name: str, schema: str, rows: list[tuple[Any, ...]]) -> None:
        """Give rows a name, a temporary view of this thread."""
        self.spark.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def columns_of_query(self, name: str) -> "QueryColumns":
        """Return the columns of a query that has a name."""
        found = self.spark.table(name).dtypes
        return QueryColumns(
            {column.lower(): data_type for column, data_type in found},
            {column.lower(): self.adapter.quote(column) for column, _ in found},
        )

    def compile_queries(self, is_worth_it: bool) -> None:
        """Let the next queries of this thread be compiled, or interpreted."""
        compile_plans(self.spark, is_worth_it)

    def statements_of_constraints(
        self, relation: BaseRelation, columns: Mapping[str, Any]
    ) -> list[str]:
        """Return what holds a plain table to its columns' constraints; warn of what has no effect.

        Args:
            columns: those of the model's YAML, by their names.
        """
        for left_out in constraints_without_effect(columns.values()):
            said = (
                f"{relation}.{left_out} has no effect in a plain table, only not_null and check "
                "have."
            )
            warn_or_error(AdapterEventWarning(name="Lakehouse", base_msg=said))
        return hold_to_constraints(str(relation), columns.values())

    def statements_of_dropping(
        self, relation: BaseRelation, columns: Iterable[Column]
    ) -> list[str]:
        """Return what takes columns out of a plain table; nothing if there are none."""
        gone = [column.name for column in columns]
        return drop_columns(relation.render(), gone) if gone else []
