"""The process that serves: one Spark for SQL over Thrift, other processes and scheduled runs."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.runtime.progress import say
from cdc_lakehouse.runtime.session import gone_spark
from cdc_lakehouse.runtime.slow import saying_if_slow
from cdc_lakehouse.runtime.stopping import REQUESTED, requested_by_signals
from cdc_lakehouse.serve import thrift
from cdc_lakehouse.serve.clients import Clients, Functions, WriteLock
from cdc_lakehouse.serve.figures import Figures
from cdc_lakehouse.serve.news import Look, News
from cdc_lakehouse.serve.pages import Pages
from cdc_lakehouse.serve.report import Report

# Returns what `lakehouse run` ends with, and what it did, for a program.
Run = Callable[[AbstractContextManager[None]], tuple[Exit, dict[str, Any]]]
TICK = 0.5  # seconds between two looks whether Spark is there
RETRY = 60  # seconds at most until a run for something new, which was not done, is done again


@dataclass(frozen=True)
class Request:
    """The settings of `lakehouse serve`.

    Attributes:
        host, port: where Thrift answers.
        http_host, http_port: where the report, /health, /ready and /metrics do.
        options: of Spark's Thrift server, by their names in Hive.
        is_read_only: whether the user who serves may only read over Thrift, as others do.
        every: seconds from the end of a run to the beginning of the next.
        look: at the source, between runs; what changes there begins a run at once.
        tell: is told what happens, by a word and what there is to say of it.
    """

    host: str
    port: int
    http_host: str
    http_port: int
    options: dict[str, str] = field(default_factory=dict)
    is_read_only: bool = False
    every: float = 60
    look: Look | None = None
    tell: Callable[..., None] = lambda event, **about: None

    def check(self) -> None:
        """Raise a LakehouseError if it is not safe, or if an address is taken."""
        thrift.check_safe(self.host, self.options)
        thrift.check_free(self.host, self.port, "--port")
        thrift.check_free(self.http_host, self.http_port, "--http-port")


def serve(request: Request, spark: SparkSession, project: Path, run: Run | None) -> None:
    """Serve until SIGTERM or SIGINT, which end it once the commits at work are made.

    Args:
        request: where, and how often `run` is called.
        spark: the root session of this process, which holds the metastore.
        project: the folder of the dbt project, whose functions the views ask.
        run: lands what is new, and builds while it holds the lock that it is given. None runs
            nothing.

    Raises:
        LakehouseError: Spark has ended.
    """
    figures, functions = Figures(spark), Functions(spark, project)
    gone = partial(gone_spark, spark)
    lock = WriteLock(functions.renew)
    with ExitStack() as stack:
        report = Report(spark, project)
        pages = Pages(request.http_host, request.http_port, gone, figures.text, report.page)
        stack.callback(pages.close)
        with saying_if_slow("starts the Thrift server"):
            server = thrift.start(
                spark, request.host, request.port, request.options, request.is_read_only
            )
        stack.callback(server.stop)
        clients = Clients(spark, lock, project)
        stack.callback(clients.close)
        saying = "ends after the commit at work"
        stack.enter_context(requested_by_signals(lambda name: say(f"{name}: {saying}")))
        pages.is_ready = True
        sql = f"jdbc:hive2://{request.host}:{request.port}"
        report_at = f"http://{request.http_host}:{request.http_port}/"
        say(f"SQL at {sql}, the report at {report_at}, figures at {report_at}metrics")
        request.tell("ready", sql=sql, report=report_at, metrics=f"{report_at}metrics")
        news = News(spark, request.look) if request.look else None
        due = time.monotonic()
        while not REQUESTED.wait(TICK):
            if said := gone():
                raise LakehouseError(f"{said}. Start `lakehouse serve` again.")
            if run is None:
                continue
            if (news and news.have_come()) or time.monotonic() >= due:
                is_done = _run_once(run, lock, figures, request.tell)
                # What is new is known then: it would wait for what comes next.
                wait = min(request.every, RETRY) if news and not is_done else request.every
                due = time.monotonic() + wait
        pages.is_ready = False
        request.tell("end")


def _run_once(run: Run, lock: WriteLock, figures: Figures, tell: Callable[..., None]) -> bool:
    """Run once, and tell whether all was done; what fails is said, and the next run tries again."""
    began = time.monotonic()
    try:
        code, done = run(lock.hold("a run of `lakehouse serve`"))
    except LakehouseError as error:
        say(str(error))
        code, done = Exit.NOTHING, {"exit_code": Exit.NOTHING, "error": str(error)}
    seconds = time.monotonic() - began
    figures.note_run(code, seconds)
    say(f"a run of {seconds:.1f} s ended with exit code {code}")
    tell("run", seconds=seconds, **done)
    return code == Exit.DONE
