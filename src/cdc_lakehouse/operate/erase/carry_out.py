"""Carry out what the record of an erasure says; every step may be done twice."""

from contextlib import ExitStack

from pyspark.sql import SparkSession

from cdc_lakehouse.bronze.removal import Removal, rows_frame
from cdc_lakehouse.bronze.tables import MESSAGES
from cdc_lakehouse.delta.commit import set_for_one_statement, settings_of_commit
from cdc_lakehouse.delta.kept import forget, kept_tables
from cdc_lakehouse.delta.log import latest_version
from cdc_lakehouse.delta.past import identifier_of, read_mark
from cdc_lakehouse.delta.purge import purge
from cdc_lakehouse.engine.change_log import version_read
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.erase.dbt_runs import run_dbt
from cdc_lakehouse.operate.erase.left_overs import remove_left_overs
from cdc_lakehouse.operate.erase.stored import Finder, is_delta, named
from cdc_lakehouse.runtime.locks import hold, known_locks
from cdc_lakehouse.runtime.paths import warehouse_path

STOP = "An erasure needs the lakehouse for itself: stop that, or wait for it to end."


class Locks:
    """The locks of all who append to bronze, also of those that begin while an erasure runs."""

    def __init__(self, stack: ExitStack):
        self.stack = stack
        self.held: set[str] = set()

    def keep_writers_out(self) -> None:
        """Take the locks that are not held yet."""
        streams = {name for name in known_locks() if name.startswith("kafka-")}
        for name in sorted({"ingest", *streams} - self.held):
            self.stack.enter_context(hold(name, STOP))
            self.held.add(name)


def carry_out(spark: SparkSession, locks: Locks, removal: Removal) -> dict[str, tuple[int, int]]:
    """Do all that a removal says, where it has not been done; return the rows before and after."""
    removal.remove_messages(spark)
    rows_frame(spark, removal.rows).createOrReplaceTempView("removed_rows")
    if removal.rows:
        forget(spark, "silver.events")
        spark.sql("""
            merge into silver.events as events
            using removed_rows as removed
            on events.topic = removed.topic
                and events.partition = removed.partition
                and events.offset = removed.offset
                and events.row_number = removed.row_number
            when matched then delete
        """)
    advance_high_water_mark(spark)
    tables = [table for _, table in (*removal.models, *removal.tests)]
    tables += [table for table, *_ in removal.cleaned]
    before = {table: _rows(spark, table) for table in tables if _is_there(spark, table)}
    finder = Finder(spark, removal.hashes, removal.number)
    for cleaning in removal.cleaned:
        if cleaning[0] in before:
            finder.remove(*cleaning)
    if removal.models:
        # A merge cannot take back what a change did; but gold is a function of silver.
        run_dbt("run", "--full-refresh", "-s", *sorted({name for name, _ in removal.models}))
    if removal.tests:
        tests = [name for name, _ in removal.tests]
        run_dbt("test", "--store-failures", "-s", *tests, may_fail=True)
    tables = [table for table in tables if _is_there(spark, table)]
    counts = {table: (before.get(table, 0), _rows(spark, table)) for table in tables}
    locks.keep_writers_out()
    purge(spark, f"bronze.{MESSAGES}")
    advance_high_water_mark(spark)
    for table in ("silver.events", *kept_tables(), *tables):
        if is_delta(spark, table):
            purge(spark, named(table))
    for view in spark.catalog.listTables():
        if view.isTemporary:
            spark.catalog.dropTempView(view.name)
    remove_left_overs(spark)
    removal.end(spark)
    return counts


def _is_there(spark: SparkSession, table: str) -> bool:
    return spark.catalog.tableExists(named(table))


def _rows(spark: SparkSession, table: str) -> int:
    """Count a table's rows; dbt has maybe replaced the files of which this session knows."""
    spark.catalog.refreshTable(named(table))
    return spark.table(named(table)).count()


def advance_high_water_mark(spark: SparkSession) -> None:
    """Let silver have read the commits of bronze that only removed: their files are to go."""
    messages, events = (warehouse_path(*n.split(".")) for n in ("bronze.messages", "silver.events"))
    read, last = version_read_by_silver(spark), latest_version(spark, messages)
    if read == last:
        return
    refuse_unprocessed(spark, read)
    mark = read_mark(spark, events, "bronze.messages")
    commit = identifier_of(messages, last)
    settings = settings_of_commit(
        "bronze.messages", last, mark.newest, mark.went_back, commit=commit
    )
    with set_for_one_statement(spark, settings):
        spark.sql("update silver.events set topic = topic where false")


def refuse_unprocessed(spark: SparkSession, read: int) -> None:
    """Refuse to go on if bronze has messages after the version that silver has read."""
    new = spark.table("bronze.messages").where(f"_metadata.row_commit_version > {read}")
    if count := new.count():
        raise LakehouseError(
            f"{count:,} messages of bronze are not processed in silver yet, so it is not known "
            "whose they are. Run `dbt run`, then `lakehouse erase` again."
        )


def version_read_by_silver(spark: SparkSession) -> int:
    """Return the commit up to which silver has read bronze."""
    read = version_read(spark, warehouse_path("silver", "events"))
    if read is None:
        raise LakehouseError("silver.events has processed nothing yet. Run `dbt run`.")
    return read
