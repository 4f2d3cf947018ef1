"""What the materializations ask of Delta beyond SQL: a table's version and its watermarks."""

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt.flags import get_flags
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import DataFrame, SparkSession

from cdc_lakehouse import projection
from cdc_lakehouse.bronze import GENERATION, quoted
from cdc_lakehouse.delta_log import (
    bytes_since,
    keeps_rows_since,
    last_transactions,
    read_beside,
    snapshot,
    write_beside,
)
from cdc_lakehouse.engine.commit import set_for_one_statement, settings_of_commit
from cdc_lakehouse.gold_options import refused_option
from cdc_lakehouse.latest_changes import (
    FILE,
    LatestChanges,
    Source,
    furthest,
    query_of_latest,
    query_of_rows,
    read_latest,
)
from cdc_lakehouse.project import use_project
from cdc_lakehouse.removal import refuse_build_over_loss
from cdc_lakehouse.routes import read_routes
from cdc_lakehouse.session import (
    FEW_BYTES,
    FEW_ROWS,
    FEW_STORED_BYTES,
    compile_plans,
    warehouse_path,
)
from cdc_lakehouse.stored_columns import columns_to_add
from dbt.adapters.lakehouse.connections import LakehouseConnectionManager, short_errors

# The names that dbt gives a reference of which it takes no row, or those of some time.
PARTS = ("_dbt_limit_subq", "_dbt_et_filter_subq")
INFERENCE = "spark.sql.constraintPropagation.enabled"
MANY_COLUMNS = 200


@dataclass
class LakehouseConfig(SparkConfig):
    """The options of a gold model; `gold_options` explains and checks them."""

    on_truncate: str | None = None
    on_drop: str | None = None
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

    OPTIONS: ClassVar = {
        field.name for field in fields(LakehouseConfig) if field not in fields(SparkConfig)
    }

    def __init__(self, config, mp_context):
        super().__init__(config, mp_context)
        self._notes: dict[str, Any] = {}
        # `dbt debug` brings the profile alone.
        use_project(getattr(config, "project_root", None) or get_flags().PROJECT_DIR)

    def submit_python_job(self, parsed_model: dict, compiled_code: str) -> NoReturn:
        """Refuse a Python model; dbt-spark would send it to Databricks."""
        raise DbtRuntimeError(
            f"{parsed_model['original_file_path']} is a Python model, which this adapter does not "
            "run. Write it in SQL; a function in udfs/ brings Python into SQL."
        )

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

    @available.parse(lambda *args, **kwargs: False)
    def reads_a_part_only(self, sql: str) -> bool:
        """Tell whether `ref` and `source` give a model less than there is: --empty, --sample.

        A table that then noted what it has read would never read the rest.
        """
        flags = get_flags()
        is_asked = bool(getattr(flags, "EMPTY", False) or getattr(flags, "SAMPLE", None))
        return is_asked or any(part in sql for part in PARTS)

    @available.parse(lambda *args, **kwargs: None)
    def refused_option(
        self, given: Iterable[str], options: Iterable[str]
    ) -> tuple[str, str | None] | None:
        """Return the first option that a model with `options` must not have, and what is meant."""
        return refused_option(given, options, self.OPTIONS, self.config.models)

    def _spark(self) -> SparkSession:
        return self.connections.get_thread_connection().handle.handle.spark

    def _query(self, sql: str) -> DataFrame:
        with short_errors():
            return self._spark().sql(sql)

    def _snapshot(self, relation: BaseRelation):
        """The table's latest state in Delta's log; nothing of it is a query.

        It is kept until the next statement of this thread, for Delta lists the whole log for each.
        """
        handle = self.connections.get_thread_connection().handle.handle
        name = relation.render()
        if name not in handle.snapshots:
            with short_errors():
                found = snapshot(handle.spark, warehouse_path(relation.schema, relation.identifier))
            if found.version() < 0:
                raise DbtRuntimeError(f"There is no table {name}.")
            handle.snapshots[name] = found
        return handle.snapshots[name]

    def _mark(self, relation: BaseRelation, name: str) -> int | None:
        marks = last_transactions(warehouse_path(relation.schema, relation.identifier))
        if marks is not None:
            return marks.get(name)
        # Delta has to read the whole log for it.
        mark = self._snapshot(relation).transactions().get(name)
        return mark.get() if mark.isDefined() else None

    @available.parse(lambda *args, **kwargs: False)
    def adopt(self, relation: BaseRelation, is_named: bool) -> bool:
        """Make the metastore and the folder of a Delta table agree on whether there is one.

        Delta commits a new table before the metastore learns of it, and refuses to make one where
        a folder is: after a kill in between, or without the old metastore, no run could go on. Nor
        could one where somebody has deleted the folder of a table that the metastore names.

        Args:
            relation: a table of this project.
            is_named: whether the metastore knows it.

        Returns:
            Whether there is a table. What a CREATE has left that committed nothing is removed.
        """
        folder = warehouse_path(relation.schema, relation.identifier)
        if any((folder / "_delta_log").glob("[0-9]*.json")):
            if not is_named:
                location = quoted(str(folder))
                with short_errors():
                    self._spark().sql(f"create schema if not exists {relation.schema}")
                    self._spark().sql(f"create table {relation} using delta location {location}")
            return True
        if is_named:
            with short_errors():
                self._spark().sql(f"drop table if exists {relation}")
        if folder.is_dir():
            shutil.rmtree(folder)
        return False

    @available.parse(lambda *args, **kwargs: None)
    def refuse_build_over_loss(self) -> None:
        """Refuse to build silver.events from nothing where bronze has removed messages."""
        with short_errors():
            refuse_build_over_loss(self._spark())

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
        self.connections.get_thread_connection().handle.handle.snapshots.clear()
        with short_errors():
            self._query(sql).localCheckpoint().createOrReplaceTempView(name)

    @available.parse(lambda *args, **kwargs: None)
    def name_query(self, name: str, sql: str) -> None:
        """Give a query a name, a temporary view of this thread that is analysed once.

        One that SQL makes is analysed at each mention.
        """
        self._query(sql).createOrReplaceTempView(name)

    @available.parse(lambda *args, **kwargs: [])
    def columns_of_query(self, name: str) -> list[tuple[str, str]]:
        """Return the names and types of the columns of a query that has a name."""
        return self._spark().table(name).dtypes

    @available.parse(lambda *args, **kwargs: None)
    def table_property(self, relation: BaseRelation, name: str) -> str | None:
        """Return a property of the table, or None if it has no such one."""
        found = self._snapshot(relation).metadata().configuration().get(name)
        return found.get() if found.isDefined() else None

    @available.parse(lambda *args, **kwargs: [])
    def changed_columns(self, relation: BaseRelation, columns: list[dict]) -> list[str]:
        """Return the names of columns in which the table and `columns` (name, data_type) differ."""
        found, wanted = self._types_of_table(relation), self._types_of_columns(columns)
        names = found.keys() | wanted.keys()
        return sorted(name for name in names if found.get(name) != wanted.get(name))

    @available.parse(lambda *args, **kwargs: [])
    def columns_to_add(
        self, relation: BaseRelation, columns: list[dict], loses_rows: bool
    ) -> list[str]:
        """Return the names of `columns` that the table gets in place; none if it is rebuilt."""
        required = [
            column["name"]
            for column in columns
            if any(each["type"] == "not_null" for each in column.get("constraints") or ())
        ]
        found, wanted = self._types_of_table(relation), self._types_of_columns(columns)
        return columns_to_add(found, wanted, required, loses_rows)

    def _types_of_table(self, relation: BaseRelation) -> dict[str, Any]:
        return _types_by_name(self._snapshot(relation).schema().json())

    def _types_of_columns(self, columns: list[dict]) -> dict[str, Any]:
        parse = self._spark()._jvm.org.apache.spark.sql.types.StructType.fromDDL
        definition = ", ".join(f"{self.quote(col['name'])} {col['data_type']}" for col in columns)
        return _types_by_name(parse(definition).json())

    @available.parse(lambda *args, **kwargs: None)
    def watermark(self, relation: BaseRelation, name: str) -> int | None:
        """Return up to which version of `name` the table has read, or None if it never has.

        It is a transaction identifier of Delta, so it commits with the rows it speaks of.
        """
        mark = self._mark(relation, name)
        return None if mark is None else mark % GENERATION

    @available.parse(lambda *args, **kwargs: "{}")
    def routes(self) -> str:
        """Return the routes of seeds/topics.csv as it is now, as JSON."""
        with short_errors():
            return read_routes(Path(self.config.project_root)).as_json()

    @available.parse(lambda *args, **kwargs: -1)
    def version_read(self, relation: BaseRelation, name: str) -> int:
        """Return up to which version of `name` a table has read; -1 if it has not, or is not there.

        For data tests, which may be compiled before there is a table.
        """
        if not any(warehouse_path(relation.schema, relation.identifier).glob("_delta_log/*.json")):
            return -1
        mark = self.watermark(relation, name)
        return -1 if mark is None else mark

    @available.parse(lambda *args, **kwargs: None)
    def write_and_commit(
        self,
        statement: str,
        relation: BaseRelation,
        source: str,
        version: int,
        rebuild: bool = False,
        row_by_row: bool = False,
        is_staged: bool = False,
    ) -> AdapterResponse:
        """Run the statement that writes a table; with its rows commits how far it has read.

        No other statement can come between the two; `settings_of_commit` says what they are.
        """
        mark = self._mark(relation, source)
        values = settings_of_commit(source, version, mark, rebuild, row_by_row, is_staged)
        with set_for_one_statement(self._spark(), values):
            response, _ = self.execute(statement, auto_begin=True)
        return response

    @available.parse(lambda *args, **kwargs: None)
    def find_latest_changes(
        self, relation: BaseRelation, read: int | None, without: str | None = None
    ) -> None:
        """Make the temporary view `latest_changes`: how far earlier runs came in each source table.

        Args:
            relation: the change log.
            read: up to which version of bronze it has read; None if it is built (again).
            without: a view of messages that are processed again, whose rows do not count; what
                they were may have been wrong, so the file of the last run is not asked either.
        """
        path = warehouse_path(relation.schema, relation.identifier)
        sequences, since = {}, -1
        if read is not None:
            kept = None if without else read_latest(read_beside(self._spark(), path, FILE))
            if kept and keeps_rows_since(path, kept.version):
                sequences, since = kept.sequences, kept.bronze_version
            if since < read:
                sequences = furthest(sequences, self._latest_since(relation, since, without))
        self.leave_note("latest_changes", sequences)
        self.name_query("latest_changes", query_of_rows(sequences))

    @available.parse(lambda *args, **kwargs: None)
    def keep_latest_changes(self, relation: BaseRelation, read: int | None, last: int) -> None:
        """Leave for the next run how far this one, which read up to `last`, has come."""
        since = -1 if read is None else read
        sequences = furthest(self.take_note("latest_changes"), self._latest_since(relation, since))
        latest = LatestChanges(self._snapshot(relation).version(), last, sequences)
        path = warehouse_path(relation.schema, relation.identifier)
        with short_errors():
            write_beside(self._spark(), path, FILE, latest.text())

    def _latest_since(
        self, relation: BaseRelation, since: int, without: str | None = None
    ) -> dict[Source, str]:
        found = self._query(query_of_latest(relation.render(), since, without))
        return {tuple(source): sequence for *source, sequence in found.collect()}

    @available.parse(lambda *args, **kwargs: None)
    def expect_new_rows(self, relation: BaseRelation, read: int | None) -> None:
        """Let this model's queries be compiled, or interpreted if little came after version `read`.

        Args:
            relation: the table that the model reads.
            read: up to which of its versions the model has read it; None if it reads all of it.
        """
        size = bytes_since(warehouse_path(relation.schema, relation.identifier), read)
        compile_plans(self._spark(), size is None or size > FEW_BYTES)

    @available.parse(lambda *args, **kwargs: None)
    def expect_changes(self, count: int, stored: BaseRelation) -> None:
        """Do the same for `count` changes that are to be merged into the table `stored`."""
        size = bytes_since(warehouse_path(stored.schema, stored.identifier), None)
        are_few = count <= FEW_ROWS and size is not None and size <= FEW_STORED_BYTES
        compile_plans(self._spark(), not are_few)

    @available.parse(lambda *args, **kwargs: None)
    def expect_columns(self, count: int) -> None:
        """Let this model's plans be fit for `count` columns.

        What Spark infers of columns that are equal, to filter more, takes it minutes for many.
        """
        self._spark().conf.set(INFERENCE, str(count <= MANY_COLUMNS).lower())

    @available.parse(lambda *args, **kwargs: {})
    def columns_read(self, sql: str, columns: list[dict]) -> dict[str, list[str]]:
        """Return the source columns that each column of a gold model is made from.

        A column that cannot be traced through the model's SQL is taken to be that of its name, or
        of its `meta: {source: ...}`.
        """
        read = projection.columns_read(sql)
        named = {c["name"]: [(c.get("meta") or {}).get("source", c["name"])] for c in columns}
        return {
            name: read.get(name, source)
            for name, source in named.items()
            if not name.startswith("_")
        }

    @available.parse(lambda *args, **kwargs: "")
    def carries_all(self, reads: dict[str, list[str]]) -> str:
        """Return the condition that an image carries something for each column of a table."""
        return projection.carries_all(reads)

    @available.parse(lambda *args, **kwargs: "")
    def columns_not_carried(
        self, reads: dict[str, list[str]], columns: list[dict], key: list[str]
    ) -> str:
        """Return the map of the columns outside the key that an image does not carry."""
        names = [column["name"] for column in columns if column["name"] not in key]
        return projection.columns_not_carried(reads, names)

    @available.parse(lambda *args, **kwargs: "")
    def is_half_carried(self, names: list[str]) -> str:
        """Return the condition that an update carries a part of what a column is made from."""
        return projection.is_half_carried(names)

    @available.parse(lambda *args, **kwargs: "")
    def definition_of_view(self, sql: str) -> str:
        """Return a name for all that decides what a view of this project is: its SQL and all files.

        The columns of a view are those that the models below it had when it was made.
        """
        return hashlib.md5((sql + self._digest_of_project).encode()).hexdigest()

    @cached_property
    def _digest_of_project(self) -> str:
        root = Path(self.config.project_root)
        folders = [root / name for name in (*self.config.model_paths, *self.config.macro_paths)]
        files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        variables = [self.config.vars.to_dict(), self.config.cli_vars]
        digest = hashlib.md5(json.dumps(variables, sort_keys=True, default=str).encode())
        for path in [root / "dbt_project.yml", *files]:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    @available.parse(lambda *args, **kwargs: None)
    def view_property(self, relation: BaseRelation, name: str) -> str | None:
        """Return a property of a view, or None if it has no such one, or is no view."""
        session = self._spark()._jsparkSession
        identifier = session.sessionState().sqlParser().parseTableIdentifier(relation.render())
        with short_errors():
            found = session.sessionState().catalog().getTableMetadata(identifier)
        value = found.properties().get(name)
        return value.get() if value.isDefined() else None


def _types_by_name(schema: str) -> dict[str, Any]:
    return {field["name"]: _plain(field["type"]) for field in json.loads(schema)["fields"]}


def _plain(data_type: Any) -> Any:
    """A type as Spark writes it in JSON, without what is not of the type: where nulls may be."""
    if isinstance(data_type, list):
        return [_plain(part) for part in data_type]
    if isinstance(data_type, dict):
        besides = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {name: _plain(part) for name, part in data_type.items() if name not in besides}
    return data_type
