"""Land what is new and build silver and gold from it, in one process with one Spark."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.factory import get_adapter_by_type
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from cdc_lakehouse.console.building import Building
from cdc_lakehouse.console.commands.ingest import exit_of
from cdc_lakehouse.console.documents import landed_document
from cdc_lakehouse.console.output import plain
from cdc_lakehouse.console.overview import Overview, look
from cdc_lakehouse.console.report import landed_text
from cdc_lakehouse.delta.log import is_table
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.ingest.delivered import bytes_to_land
from cdc_lakehouse.ingest.report import IngestReport, KafkaReport
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import failing_in_short
from cdc_lakehouse.runtime.slow import saying_if_slow
from cdc_lakehouse.runtime.stopping import REQUESTED
from cdc_lakehouse.runtime.timings import Recorder
from dbt.adapters.lakehouse import connections

Landed = IngestReport | KafkaReport


@dataclass(frozen=True)
class Node:
    """The result of a seed, a model or a test of dbt."""

    name: str
    resource_type: str
    status: str
    seconds: float
    message: str | None


@dataclass
class RunReport:
    """The result of a run.

    Attributes:
        exit_code: DONE; or IN_PART, after the run has said what was not done.
        ingest: what has landed; None if the messages land elsewhere.
        nodes: what dbt has built and tested.
        problem: why nothing was built, or dbt stopped.
        overview: a look at the tables afterwards, if that is wanted.
    """

    exit_code: Exit = Exit.DONE
    ingest: Landed | None = None
    nodes: list[Node] = field(default_factory=list)
    problem: str | None = None
    overview: Overview | None = None

    def document(self) -> dict[str, Any]:
        """Return what a program reads."""
        document: dict[str, Any] = plain(vars(self)) | {
            "ingest": landed_document(self.ingest) if self.ingest else None,
            "overview": self.overview.document() if self.overview else None,
        }
        return document


def run(
    land: Callable[[Recorder | None], Landed | None],
    path: str | None,
    tests: bool,
    show: bool = False,
    write_lock: AbstractContextManager[None] | None = None,
) -> RunReport:
    """Land what is new, then let dbt build seeds and models, on the Spark that the profile sets.

    Where dbt cannot read the project, or another dbt uses the tables, messages are landed all the
    same: a topic may keep them for some hours only. What has landed is printed at once, for dbt
    prints after it.

    Args:
        land: lands what is new; its timings are added to those that it is given.
        path: the landing folder; None if the messages come from Kafka.
        tests: whether dbt runs data tests, too.
        show: whether to look at the tables at the end.
        write_lock: held while dbt runs, to keep other writers out.

    Raises:
        LakehouseError: nothing was done.
    """
    # Kafka does not tell it beforehand; the first run reads all that Kafka has.
    to_land = bytes_to_land(path) if path else 0
    is_first = not is_table(warehouse_path("bronze", "messages"))
    report = RunReport()
    try:
        manifest = parse()
        is_long = connections.has_much_to_do(to_land) or (path is None and is_first)
        spark = start_spark(is_long)
    except LakehouseError as error:
        report.problem, report.exit_code = str(error), Exit.IN_PART
        _land(land, None, report)
        print(f"Nothing was built: {error}")
        return report
    _land(land, connections.TIMINGS, report)
    if REQUESTED.is_set():
        report.exit_code = Exit.IN_PART
        return report
    left_out = ["unit_test"] if tests else ["unit_test", "test"]
    selection = [word for name in left_out for word in ("--exclude-resource-type", name)]
    building = Building()
    with write_lock or nullcontext(), building.shown() as options:
        runner = dbtRunner(manifest=manifest, callbacks=[building])
        built = runner.invoke([*options, "build", *selection])
    report.nodes = [_node(result) for result in getattr(built.result, "results", ())]
    report.problem = str(built.exception) if built.exception else None
    if not built.success:
        report.exit_code = Exit.IN_PART
    if show and is_table(warehouse_path("silver", "events")):
        with failing_in_short():
            report.overview = look(spark.newSession(), is_for_screen=True)
        if report.overview.problems:
            report.exit_code = Exit.IN_PART
    return report


def _land(
    land: Callable[[Recorder | None], Landed | None], timings: Recorder | None, report: RunReport
) -> None:
    report.ingest = land(timings)
    if report.ingest is not None:
        print(landed_text(report.ingest))
        report.exit_code = max(report.exit_code, exit_of(report.ingest))


def _node(result: Any) -> Node:
    node = result.node
    seconds, said = result.execution_time, result.message
    return Node(node.name, str(node.resource_type), str(result.status), seconds, said)


def parse() -> Manifest:
    """Let dbt read the project, which makes the profile known too.

    Raises:
        LakehouseError: it cannot; dbt has said why.
    """
    with saying_if_slow("reads the project"):
        parsed = dbtRunner().invoke(["--quiet", "parse"])
    if not parsed.success:
        raise LakehouseError("dbt cannot read the project. Mend it, then run `dbt build`.")
    assert isinstance(parsed.result, Manifest)
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
        with saying_if_slow("starts Spark, which may take a minute"):
            return connections.root_session(credentials.server_side_parameters, is_long)
    except DbtRuntimeError as error:
        raise LakehouseError(error.msg) from None
