"""Land what is new and build silver and gold from it, in one process with one Spark."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from dbt.adapters.factory import get_adapter_by_type
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from cdc_lakehouse.console.show import show_tables
from cdc_lakehouse.delta.log import is_table
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.delivered import bytes_to_land
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import failing_in_short
from cdc_lakehouse.runtime.stopping import REQUESTED
from cdc_lakehouse.runtime.timings import Recorder
from dbt.adapters.lakehouse import connections


def run(
    land: Callable[[Recorder | None], int],
    path: str | None,
    tests: bool,
    show: bool = False,
    write_lock: AbstractContextManager[None] | None = None,
) -> int:
    """Land what is new, then let dbt build seeds and models, on the Spark that the profile sets.

    Where dbt cannot read the project, or another dbt uses the tables, messages are landed all the
    same: a topic may keep them for some hours only.

    Args:
        land: lands what is new and returns an exit code, 1 if that is not all; its timings are
            added to those that it is given.
        path: the landing folder; None if the messages come from Kafka.
        tests: whether dbt runs data tests, too.
        show: whether the tables are printed at the end.
        write_lock: held while dbt runs, to keep other writers out.

    Returns:
        0 if all was done, 1 if it was in part; what was not done has been said.

    Raises:
        LakehouseError: nothing was done.
    """
    # Of Kafka it is not known before; the first run reads all that there is.
    to_land = bytes_to_land(path) if path else 0
    is_first = not is_table(warehouse_path("bronze", "messages"))
    try:
        manifest = parse()
        is_long = connections.has_much_to_do(to_land) or (path is None and is_first)
        spark = start_spark(is_long)
    except LakehouseError as error:
        land(None)
        print(f"Nothing was built: {error}")
        return 1
    landed = land(connections.TIMINGS)
    if REQUESTED.is_set():
        return 1
    left_out = ["unit_test"] if tests else ["unit_test", "test"]
    selection = [word for name in left_out for word in ("--exclude-resource-type", name)]
    with write_lock or nullcontext():
        built = dbtRunner(manifest=manifest).invoke(["build", *selection])
    is_shown = True
    if show and is_table(warehouse_path("silver", "events")):
        with failing_in_short():
            is_shown = show_tables(spark.newSession())
    return 0 if landed == 0 and built.success and is_shown else 1


def parse() -> Manifest:
    """Let dbt read the project, which makes the profile known too.

    Raises:
        LakehouseError: it cannot; dbt has said why.
    """
    parsed = dbtRunner().invoke(["--quiet", "parse"])
    if not parsed.success:
        raise LakehouseError("dbt cannot read the project. Mend it, then run `dbt build`.")
    return parsed.result


def start_spark(is_long: bool) -> SparkSession:
    """Return the root session that the profile sets, of a project that dbt has read.

    Raises:
        LakehouseError: the profile is not of the Spark of this process, or it does not start.
    """
    credentials = get_adapter_by_type("lakehouse").config.credentials
    if credentials.method != "session":
        raise LakehouseError(
            f"The profile says method: {credentials.method}, and this command works on the Spark "
            "of its own process. Run `lakehouse ingest` and `dbt build` instead."
        )
    try:
        return connections.root_session(credentials.server_side_parameters, is_long)
    except DbtRuntimeError as error:
        raise LakehouseError(error.msg) from None
