"""dbt's connections to the embedded Spark: one root session per process, one child per thread."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import session
from dbt.adapters.spark.connections import SparkConnectionManager, SparkCredentials
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import Row, SparkSession

from cdc_lakehouse.bronze.tables import attach_tables
from cdc_lakehouse.delta.high_water_mark import version_of
from cdc_lakehouse.delta.log import bytes_since, last_transactions
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime.functions import register_functions
from cdc_lakehouse.runtime.kept import idle_seconds
from cdc_lakehouse.runtime.locks import Lock, hold_tables
from cdc_lakehouse.runtime.meaning import PINNED, refuse_other_meanings, restore_meanings
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path
from cdc_lakehouse.runtime.project import project_folder
from cdc_lakehouse.runtime.served import (
    Served,
    end_kept,
    is_kept,
    join_or_keep,
    join_served,
)
from cdc_lakehouse.runtime.session import (
    FEW_BYTES,
    MANY_BYTES,
    compile_plans,
    failing_in_short,
    open_session,
)
from cdc_lakehouse.runtime.shared_metastore import is_shared
from cdc_lakehouse.runtime.stopping import REQUESTED
from cdc_lakehouse.runtime.timings import Recorder
from cdc_lakehouse.sql import quoted
from cdc_lakehouse.storage.files import Location

# A statement that can change settings, maybe behind comments.
_SETS = re.compile(r"(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*set\b")

ONE_AT_A_TIME = "Only one dbt can use it at a time: wait for it to end, or stop it."
NEEDED_ALONE = "It needs the tables for itself: run again when it has ended."

# The steps of the dbt command at work, and for which node its threads do theirs.
TIMINGS = Recorder()
_at_work = threading.local()

logger = AdapterLogger("Lakehouse")

_lock = threading.Lock()
_root: SparkSession | None = None
_held: Lock | None = None
# The process whose Spark this one uses, where `lakehouse serve` has the metastore.
_served: Served | None = None
# The lakehouse that the root session has open, and the project whose functions it has.
_home: Location | None = None
_project: Path | None = None


@dataclass
class LakehouseCredentials(SparkCredentials):
    """A profile of `type: lakehouse`; every field of dbt-spark may be set, none needs to be."""

    host: str | None = "embedded"
    schema: str | None = "silver"
    method: str = "session"  # type: ignore[assignment]  # its enum is one of texts

    def __post_init__(self) -> None:
        given = dict(self.server_side_parameters)
        super().__post_init__()
        if self.method == "session":
            with short_errors():
                refuse_other_meanings(given, "profiles.yml")
            # dbt-spark turns ANSI off, which changes what a cast means.
            self.server_side_parameters |= PINNED

    @property
    def type(self) -> str:
        return "lakehouse"

    @property
    def unique_field(self) -> str:
        return self.host or ""

    def _connection_keys(self) -> tuple[str, ...]:
        return ("method", "schema", "server_side_parameters")


def root_session(overrides: dict[str, str], is_long: bool | None = None) -> SparkSession:
    """Return this process's root session; the first call starts Spark and takes the metastore.

    Where `lakehouse serve` has the metastore, it is the session of that process, and each command
    of dbt waits for the write lock.

    Args:
        overrides: settings of the profile.
        is_long: whether Java should optimise code for a long run; None asks how much is new.

    Raises:
        DbtRuntimeError: another process holds the metastore, this one has another lakehouse open,
            Java is missing, a function is broken.
    """
    global _root, _home, _project, _served
    with _lock, short_errors():
        home, project = lakehouse_dir(), project_folder()
        if _root is not None and home != _home:
            raise LakehouseError(
                f"This process has {_home} open, and one process opens one lakehouse only. "
                f"Start another for {home}."
            )
        if _root is None and _held is None and _served is None:
            with TIMINGS.step("dbt", "joins Spark"):
                _served, is_long = _joined(overrides, is_long)
        if _served is not None:
            _served.acquire_write_lock()
        if is_shared():
            hold_metastore()
        spark = _root
        if spark is None:
            with TIMINGS.step("dbt", "starts Spark"):
                spark = _served.spark if _served else _start(overrides, is_long)
                attach_tables(spark)
        if _served is None and (_root is None or project != _project):
            register_functions(spark, project)
        _root, _home, _project = spark, home, project
    return _root


def _joined(overrides: dict[str, str], is_long: bool | None) -> tuple[Served | None, bool | None]:
    """Join the process that serves, if there is one; where it is one of a terminal, not for long.

    Its Java is one for short commands. Returns also whether there is much to do, if that was asked.
    """
    if not (is_kept() or idle_seconds()):
        return join_served(overrides), is_long
    is_long = has_much_to_do() if is_long is None else is_long
    if is_long:
        end_kept()
    return (join_served if is_long else join_or_keep)(overrides), is_long


def _start(overrides: dict[str, str], is_long: bool | None) -> SparkSession:
    hold_metastore()
    is_long = has_much_to_do() if is_long is None else is_long
    return open_session(metastore=True, overrides=overrides, is_long=is_long)


def hold_metastore() -> None:
    """Let this process be the one that uses the metastore.

    Raises:
        LakehouseError: another one does.
    """
    global _held
    # A second thread that fails as the first did has to say the same.
    remedy = NEEDED_ALONE if is_shared() else ONE_AT_A_TIME
    _held = _held or hold_tables(remedy, to_write=True)


def release_metastore() -> None:
    """Let others do what needs the tables for itself, where the metastore is shared."""
    global _held
    if _held is not None and is_shared():
        _held.close()
        _held = None


def has_much_to_do(bytes_to_land: int = 0) -> bool:
    """Tell whether so much of bronze is unprocessed that optimising code is worth its time.

    Args:
        bytes_to_land: how much this process is going to land there first.
    """
    messages, events = warehouse_path("bronze", "messages"), warehouse_path("silver", "events")
    mark = (last_transactions(events) or {}).get("bronze.messages")
    starts_again = mark is None or getattr(get_flags(), "FULL_REFRESH", False)
    size = bytes_since(messages, None if mark is None or starts_again else version_of(mark))
    return bytes_to_land + (size or 0) > MANY_BYTES


def holds_metastore() -> bool:
    """Tell whether this process is the one that uses the metastore."""
    return _held is not None


@contextmanager
def short_errors() -> Iterator[None]:
    """Let an error of Spark reach the user as its message, without plans and stacks."""
    try:
        with failing_in_short():
            yield
    except LakehouseError as error:
        raise DbtRuntimeError(short_message(error)) from None


@contextmanager
def step_of_node(name: str, spark: SparkSession) -> Iterator[None]:
    """Record a step of the node that this thread is at; its errors are short."""
    with short_errors(), TIMINGS.step(getattr(_at_work, "node", "dbt"), name, spark):
        yield


class Cursor(session.Cursor):
    """A cursor on its thread's session, whose temporary views no other thread sees."""

    def __init__(self, handle: "SessionHandle") -> None:
        super().__init__()
        self.spark, self.snapshots = handle.spark, handle.snapshots

    def execute(self, sql: str, *parameters: Any) -> None:
        self._rows = None
        self.snapshots.clear()
        with step_of_node("runs a statement", self.spark):
            self._df = self.spark.sql(sql % parameters if parameters else sql)
            if _SETS.match(sql):
                refuse_other_meanings(restore_meanings(self.spark), "A SET statement")

    def fetchall(self) -> list[Row] | None:
        with step_of_node("fetches rows", self.spark):
            return super().fetchall()

    def fetchone(self) -> Row | None:
        with short_errors():
            return super().fetchone()


class Wrapper(session.SessionConnectionWrapper):
    @classmethod
    def _fix_binding(cls, value: Any) -> str | float:
        """Write a seed's value as a SQL literal; dbt-spark makes the text None of an empty cell."""
        if value is None:
            return "null"
        if isinstance(value, str):
            return quoted(value)
        return super()._fix_binding(value)


class SessionHandle(session.Connection):
    """What dbt holds as its connection: the Spark session of one thread."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__()
        self.spark = spark
        self.snapshots: dict[str, Any] = {}  # of tables, until the next statement

    def cursor(self) -> Cursor:
        return Cursor(self)


class LakehouseConnectionManager(SparkConnectionManager):
    TYPE = "lakehouse"

    def set_connection_name(self, name: str | None = None) -> Connection:
        # model.PROJECT.NAME, test.PROJECT.NAME.HASH; what is no node has no dots.
        parts = ["dbt"] if name is None else name.split(".")
        if REQUESTED.is_set() and len(parts) > 1:
            raise DbtRuntimeError("Not begun: this process is ending. The next run does it.")
        _at_work.node = parts[:3][-1]
        return super().set_connection_name(name)

    def cleanup_all(self) -> None:
        super().cleanup_all()
        if _root is None:  # there was no Spark to take a step; what stopped it has been said
            TIMINGS.begin()
        elif trouble := TIMINGS.finish(f"dbt-{get_flags().WHICH}", _root):
            logger.warning(trouble)
        if _served is not None:
            _served.release_write_lock()
        release_metastore()

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        if connection.state == ConnectionState.OPEN:
            return connection
        if connection.credentials.method != "session":
            return super().open(connection)
        overrides = connection.credentials.server_side_parameters
        spark = root_session(overrides).newSession()
        for name, value in overrides.items():
            if spark.conf.isModifiable(name):
                spark.conf.set(name, value)
        # A test or a view can read all that there is; a model says itself what it expects.
        everything = bytes_since(warehouse_path("bronze", "messages"), None)
        compile_plans(spark, everything is None or everything > FEW_BYTES)
        connection.handle = Wrapper(SessionHandle(spark))
        connection.state = ConnectionState.OPEN
        return connection
