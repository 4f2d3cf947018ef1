"""What the materializations ask of Delta beyond SQL: a table's version and its watermarks."""

import shutil
from dataclasses import dataclass
from typing import Any, ClassVar

from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt_common.contracts.constraints import ConstraintType
from pyspark.sql import SparkSession

from cdc_lakehouse.bronze import GENERATION, quoted
from cdc_lakehouse.session import warehouse_path
from dbt.adapters.lakehouse.connections import (
    BATCH_READER,
    WATERMARK,
    LakehouseConnectionManager,
    short_errors,
)


@dataclass
class LakehouseConfig(SparkConfig):
    """The options of a gold model; `gold_options` explains and checks them."""

    on_truncate: str | None = None
    on_delete: str | None = None
    tombstone_retention: str | None = None
    track_columns: list[str] | None = None
    cluster_by: list[str] | None = None


class LakehouseAdapter(SparkAdapter):
    ConnectionManager = LakehouseConnectionManager
    AdapterSpecificConfigs = LakehouseConfig
    # The materializations of the project enforce these themselves.
    CONSTRAINT_SUPPORT: ClassVar = {
        **SparkAdapter.CONSTRAINT_SUPPORT,
        ConstraintType.primary_key: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.check: ConstraintSupport.ENFORCED,
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._notes: dict[str, Any] = {}

    @available.parse(lambda *args, **kwargs: None)
    def leave_note(self, subject: str, note: Any) -> None:
        """Keep what was found out, for a later step of the same run."""
        self._notes[subject] = note

    @available.parse(lambda *args, **kwargs: None)
    def note(self, subject: str) -> Any:
        """Return what was left under a subject; None if nothing was."""
        return self._notes.get(subject)

    @available.parse(lambda *args, **kwargs: None)
    def take_note(self, subject: str) -> Any:
        """Return what was left under a subject, once; None if nothing was."""
        return self._notes.pop(subject, None)

    def _spark(self) -> SparkSession:
        return self.connections.get_thread_connection().handle.handle.spark

    def _snapshot(self, relation: BaseRelation):
        """The table's latest state in Delta's log; nothing of it is a query."""
        spark = self._spark()
        jvm, session = spark._jvm, spark._jsparkSession
        with short_errors():
            name = session.sessionState().sqlParser().parseTableIdentifier(relation.render())
            log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session, name)
            nothing = jvm.scala.Option.empty()
            return log.update(False, nothing, nothing)

    def _mark(self, relation: BaseRelation, name: str) -> int | None:
        mark = self._snapshot(relation).transactions().get(name)
        return mark.get() if mark.isDefined() else None

    @available.parse(lambda *args, **kwargs: False)
    def adopt(self, relation: BaseRelation) -> bool:
        """Give a table that the metastore does not know, but that is there, its name.

        Delta commits a new table before the metastore learns of it, and refuses to make one where
        a folder is: after a kill in between, or without the old metastore, no run could go on.

        Returns:
            Whether there was one. What a CREATE has left that committed nothing is removed.
        """
        folder = warehouse_path(relation.schema, relation.identifier)
        if any((folder / "_delta_log").glob("[0-9]*.json")):
            location = quoted(str(folder))
            with short_errors():
                self._spark().sql(f"create schema if not exists {relation.schema}")
                self._spark().sql(f"create table {relation} using delta location {location}")
            return True
        if folder.is_dir():
            shutil.rmtree(folder)
        return False

    @available.parse(lambda *args, **kwargs: None)
    def remove_table(self, relation: BaseRelation) -> None:
        """Drop a table and its files, also where the metastore holds the files for another's."""
        with short_errors():
            self._spark().sql(f"drop table {relation}")
        shutil.rmtree(warehouse_path(relation.schema, relation.identifier), ignore_errors=True)

    @available.parse(lambda *args, **kwargs: 0)
    def delta_version(self, relation: BaseRelation) -> int:
        """Return the number of the table's latest commit."""
        return self._snapshot(relation).version()

    @available.parse(lambda *args, **kwargs: 0)
    def earliest_version(self, relation: BaseRelation) -> int:
        """Return the number of the oldest commit that the table's log still holds."""
        history = self._spark()._jvm.org.apache.spark.sql.delta.DeltaHistoryManager
        return history.getEarliestDeltaFile(self._snapshot(relation).deltaLog())

    @available.parse(lambda *args, **kwargs: None)
    def stage(self, name: str, sql: str) -> None:
        """Run a query and keep its rows, as the temporary view `name` of this thread.

        A MERGE analyses its source many times over; that of staged rows is nothing.
        """
        with short_errors():
            self._spark().sql(sql).localCheckpoint().createOrReplaceTempView(name)

    @available.parse(lambda *args, **kwargs: None)
    def table_property(self, relation: BaseRelation, name: str) -> str | None:
        """Return a property of the table, or None if it has no such one."""
        found = self._snapshot(relation).metadata().configuration().get(name)
        return found.get() if found.isDefined() else None

    @available.parse(lambda *args, **kwargs: [])
    def changed_columns(self, relation: BaseRelation, columns: list[dict]) -> list[str]:
        """Return the names of columns in which the table and `columns` (name, data_type) differ."""
        fields = self._snapshot(relation).schema().fields()
        parse = self._spark()._jvm.org.apache.spark.sql.types.DataType.fromDDL
        found = {field.name(): field.dataType().catalogString() for field in fields}
        wanted = {col["name"]: parse(col["data_type"]).catalogString() for col in columns}
        names = found.keys() | wanted.keys()
        return sorted(name for name in names if found.get(name) != wanted.get(name))

    @available.parse(lambda *args, **kwargs: None)
    def watermark(self, relation: BaseRelation, name: str) -> int | None:
        """Return up to which version of `name` the table has read, or None if it never has.

        It is a transaction identifier of Delta, so it commits with the rows it speaks of.
        """
        mark = self._mark(relation, name)
        return None if mark is None else mark % GENERATION

    @available.parse(lambda *args, **kwargs: None)
    def set_watermark(
        self, relation: BaseRelation, name: str, version: int, rebuild: bool = False
    ) -> None:
        """Let the next statement of this thread commit the watermark together with its rows.

        Delta skips a write whose identifier it has seen and fails the second of two at once, so no
        window is ever written twice. A rebuild starts a new generation: it may read the same again.
        """
        generation = (self._mark(relation, name) or 0) // GENERATION + (1 if rebuild else 0)
        values = (name, str(generation * GENERATION + version))
        for setting, value in zip(WATERMARK, values, strict=True):
            self._spark().conf.set(setting, value)

    @available.parse(lambda *args, **kwargs: None)
    def read_row_by_row(self) -> None:
        """Let the next statement of this thread hold one row of a table's file in memory.

        Thousands at a time are read faster, unless they are messages: those may fill the memory.
        """
        self._spark().conf.set(BATCH_READER, "false")
