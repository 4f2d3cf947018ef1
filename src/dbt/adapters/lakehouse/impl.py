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

from cdc_lakehouse.bronze.removal import removed_messages
from cdc_lakehouse.delta.log import (
    bytes_since,
    last_transactions,
    snapshot,
)
from cdc_lakehouse.delta.stored_columns import changed_columns, types_of_columns, types_of_schema
from cdc_lakehouse.delta.watermark import GENERATION
from cdc_lakehouse.engine import change_log, projection
from cdc_lakehouse.engine.commit import (
    set_for_one_statement,
    settings_of_commit,
    settings_of_transaction,
)
from cdc_lakehouse.engine.gold_options import refused_option
from cdc_lakehouse.engine.loss import refuse_first_build
from cdc_lakehouse.engine.moves import (
    IDENTITY,
    change_of,
    connected,
    follow,
    identity,
    is_marked,
    marks_of,
)
from cdc_lakehouse.engine.plain_table import KIND, Step, next_step, transaction_of
from cdc_lakehouse.engine.reprocessed import PROPERTY as RESETTLED
from cdc_lakehouse.engine.reprocessed import read_tables
from cdc_lakehouse.engine.window import NewMessages, Window
from cdc_lakehouse.routes import read_routes
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.project import use_project
from cdc_lakehouse.runtime.session import FEW_BYTES, FEW_ROWS, FEW_STORED_BYTES, compile_plans
from cdc_lakehouse.sql import quoted
from dbt.adapters.lakehouse.connections import LakehouseConnectionManager, short_errors
from dbt.include.lakehouse import PACKAGE_PATH

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
    plain_table: bool | None = None


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
        # What is known for the rest of the run.
        self._answers: dict[str, list[dict[str, Any]]] = {}
        self._asked: set[str] = set()
        self._windows: dict[str, Window] = {}
        # `dbt debug` brings the profile alone.
        use_project(getattr(config, "project_root", None) or get_flags().PROJECT_DIR)

    def submit_python_job(self, parsed_model: dict, compiled_code: str) -> NoReturn:
        """Refuse a Python model; dbt-spark would send it to Databricks."""
        raise DbtRuntimeError(
            f"{parsed_model['original_file_path']} is a Python model, which this adapter does not "
            "run. Write it in SQL; a function in udfs/ brings Python into SQL."
        )

    @available.parse(lambda *args, **kwargs: [])
    def rows_asked_once(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query that several models of a run ask, with the same answer."""
        if sql not in self._answers:
            with short_errors():
                self._answers[sql] = [row.asDict() for row in self._query(sql).collect()]
        return self._answers[sql]

    @available.parse(lambda *args, **kwargs: False)
    def is_first_time(self, subject: str) -> bool:
        """Tell whether this has not been asked of a subject in this run."""
        is_first = subject not in self._asked
        self._asked.add(subject)
        return is_first

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
    def remove_table(self, relation: BaseRelation) -> None:
        """Drop a table and its files, also where the metastore holds the files for another's."""
        with short_errors():
            self._spark().sql(f"drop table {relation}")
        shutil.rmtree(warehouse_path(relation.schema, relation.identifier), ignore_errors=True)

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
        stored = types_of_schema(self._snapshot(relation).schema().json())
        return changed_columns(stored, types_of_columns(self._spark(), columns))

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

    @available.parse(lambda *args, **kwargs: False)
    def has_plain_table(self, plain: BaseRelation) -> bool:
        """Tell whether there is a copy of a gold table for other readers."""
        is_there = warehouse_path(plain.schema, plain.identifier).is_dir()
        return is_there and self._adopt_named(plain) and self._is_plain_table(plain)

    def _adopt_named(self, relation: BaseRelation) -> bool:
        catalog = self._spark()._jsparkSession.sharedState().externalCatalog()
        return self.adopt(relation, catalog.tableExists(relation.schema, relation.identifier))

    def _is_plain_table(self, relation: BaseRelation) -> bool:
        return self.table_property(relation, "cdc_lakehouse.kind") == KIND

    @available.parse(lambda *args, **kwargs: "nothing")
    def step_of_plain_table(
        self, plain: BaseRelation, storage: BaseRelation, read: int | None, profile: dict
    ) -> Step:
        """Return what the copy of a gold table needs now that the stored table has been written.

        Args:
            read: up to which version of bronze the stored table had read; None if it is new.
            profile: what this run has merged into it; empty if nothing.
        """
        exists = self._adopt_named(plain)
        if exists and not self._is_plain_table(plain):
            raise DbtRuntimeError(
                f"{plain} was not made by the option plain_table of {plain.identifier}, which "
                "would overwrite it. Give that table another name, or switch the option off."
            )
        now = self._mark(storage, "silver.events")
        before = None if read is None else now - now % GENERATION + read
        shown = self._mark(plain, self._transaction_of(storage)) if exists else None
        changes, truncates = profile.get("count", 0), profile.get("truncates", False)
        return next_step(shown, before, now, changes, truncates)

    def _transaction_of(self, storage: BaseRelation) -> str:
        return transaction_of(self._snapshot(storage).metadata().id())

    @available.parse(lambda *args, **kwargs: None)
    def write_plain_table(
        self, statement: str, storage: BaseRelation, is_staged: bool = False
    ) -> None:
        """Run the statement that writes a copy; with its rows commits what of `storage` it has."""
        mark = self._mark(storage, "silver.events")
        values = settings_of_transaction(self._transaction_of(storage), mark, is_staged=is_staged)
        with set_for_one_statement(self._spark(), values):
            self.execute(statement, auto_begin=True)

    @available.parse(lambda *args, **kwargs: None)
    def plan_change_log(
        self, relation: BaseRelation, columns: list[dict], full_refresh: bool
    ) -> Window:
        """Return what this run of a change log reads of bronze.messages; decided once in a run."""
        name = relation.render()
        if name not in self._windows:
            path = warehouse_path(relation.schema, relation.identifier)
            named = self.get_relation(relation.database, relation.schema, relation.identifier)
            with short_errors():
                if self.version_read(relation, change_log.MESSAGES) < 0:
                    refuse_first_build(removed_messages(self._spark()), path)
                exists = self.adopt(relation, named is not None)
                window = change_log.plan_window(
                    self._spark(), name, path, columns, exists, full_refresh
                )
            if not window.is_empty:
                self.expect_new_rows(self._messages, window.read)
            self._windows[name] = window
        return self._windows[name]

    @available.parse(lambda *args, **kwargs: None)
    def find_new_messages(self, window: Window) -> NewMessages | None:
        """Make the temporary view `new_deliveries` of a window; None if it has no row."""
        with short_errors():
            return change_log.find_new_messages(self._spark(), window)

    @available.parse(lambda *args, **kwargs: frozenset())
    def formats_landed(self) -> frozenset[str]:
        """Return the formats of all messages that bronze has."""
        last = self._snapshot(self._messages).version()
        with short_errors():
            return change_log.formats_between(self._spark(), -1, last)

    @property
    def _messages(self) -> BaseRelation:
        schema, name = change_log.MESSAGES.split(".")
        return self.Relation.create(schema=schema, identifier=name)

    @available.parse(lambda *args, **kwargs: {})
    def resettled_tables(self, relation: BaseRelation) -> dict[str, int]:
        """Return the source tables of which a change log has changes that were settled anew.

        Their names, as JSON, and up to which version of bronze.
        """
        return read_tables(self.table_property(relation, RESETTLED))

    @available.parse(lambda *args, **kwargs: {})
    def properties_of_resettling(self, window: Window, tables: str) -> dict[str, str]:
        """Return the properties that a change log needs before messages are processed again."""
        with short_errors():
            return change_log.properties_of_resettling(self._spark(), window, tables)

    @available.parse(lambda *args, **kwargs: None)
    def find_latest_changes(self, window: Window, found: NewMessages) -> dict:
        """Make the temporary view `latest_changes`: how far earlier runs came in each table."""
        with short_errors():
            return change_log.find_latest_changes(self._spark(), window, found)

    @available.parse(lambda *args, **kwargs: None)
    def keep_latest_changes(self, window: Window, before: dict) -> None:
        """Leave for the next run how far this one has come, and earlier ones, `before`."""
        with short_errors():
            change_log.keep_latest_changes(self._spark(), window, before)

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

    @available.parse(lambda *args, **kwargs: None)
    def find_moved_keys(self, moves: str, keys: str) -> str | None:
        """Make the temporary view `moved_keys` of the keys whose rows have to be followed again.

        Args:
            moves: a query of the moves of a table: (old_key, new_key).
            keys: a query of the keys whose changes are new, null for all.

        Returns:
            The marks of all keys that moves connect; None if they connect none with `keys`.
        """
        found = connected((old, new) for old, new in self._query(moves).collect())
        self._name_rows("moved_keys", "_key string", [(key,) for key in found])
        touched = self._query(
            f"select key from ({keys}) where key is null or key in (select _key from moved_keys)"
        )
        changed = {key and found[key] for (key,) in touched.collect()} if found else set()
        if None not in changed:
            rows = [(key,) for key, group in found.items() if group in changed]
            self._name_rows("moved_keys", "_key string", rows)
        return marks_of(found) if changed else None

    @available.parse(lambda *args, **kwargs: "")
    def is_marked(self, key: str, marks: str) -> str:
        """Return the condition that a key is among those of which a table keeps marks."""
        return is_marked(key, marks)

    @available.parse(lambda *args, **kwargs: None)
    def follow_moves(self, changes: str, columns: list[str], removing: list[str]) -> None:
        """Make temporary views of what following rows through their keys gives.

        `kept_columns`: which change says the columns that a moved row keeps; `void_halves`: the
        removed halves that remove no row.

        Args:
            changes: a view of all changes of the keys that moves connect.
            columns: the columns that are not of the key.
            removing: the operations on a table that remove its rows.
        """
        found = self._query(
            "select _key as key, _sequence as sequence, _fingerprint as fingerprint,"
            " _operation as operation, _is_replaced as is_replaced,"
            " struct(_partition, _offset, _row_number) as delivery,"
            " map_keys(_column_sequences) as not_carried, _is_moved as is_moved,"
            " _moved_from as moved_from, _source_table as source_table,"
            f" unix_micros(_committed_at) as committed_at from {changes}"
        )
        records = (change_of(row.asDict()) for row in found.collect())
        followed = follow(records, columns, removing)
        move, said_by = (
            ", ".join(f"{prefix}_{name} {kind}" for name, kind in IDENTITY.items())
            for prefix in ("_moved", "_said_by")
        )
        kept = [(*identity(k.move), *identity(k.said_by), list(k.columns)) for k in followed.kept]
        self._name_rows("kept_columns", f"{move}, {said_by}, _columns array<string>", kept)
        self._name_rows("void_halves", move, [identity(change) for change in followed.void])

    def _name_rows(self, name: str, schema: str, rows: list[tuple]) -> None:
        self._spark().createDataFrame(rows, schema).createOrReplaceTempView(name)

    @available.parse(lambda *args, **kwargs: "")
    def is_half_carried(self, names: list[str]) -> str:
        """Return the condition that an update carries a part of what a column is made from."""
        return projection.is_half_carried(names)

    @available.parse(lambda *args, **kwargs: "")
    def definition_of_view(self, sql: str) -> str:
        """Return a name for what decides what a view of this project is: its SQL and all files.

        The columns of a view are those that the models below it had when it was made.
        """
        return hashlib.md5((sql + self._digest_of_project).encode()).hexdigest()

    @cached_property
    def _digest_of_project(self) -> str:
        root = Path(self.config.project_root)
        folders = [root / name for name in (*self.config.model_paths, *self.config.macro_paths)]
        folders.append(Path(PACKAGE_PATH) / "macros")
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
