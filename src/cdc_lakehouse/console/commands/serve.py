"""`lakehouse serve`: stay up, answer SQL, and land and build on a schedule."""

import argparse
import os
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from cdc_lakehouse.console.commands.ingest import (
    add_sources,
    let_java_have_variables,
    request_of,
)
from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.console.output import Output
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.runtime.durations import seconds_of
from cdc_lakehouse.runtime.shown_command import show_as

if TYPE_CHECKING:
    from cdc_lakehouse.serve.news import Look


def add(commands: Commands) -> None:
    """Add the command, with an optional subcommand for each source, to the parser."""
    about = "stay: SQL over Thrift for BI tools, and runs on a schedule"
    command = commands.add_parser("serve", help=about)
    command.add_argument("--host", default="127.0.0.1", help="host of Thrift; default: 127.0.0.1")
    command.add_argument("--port", type=int, default=10000, help="port of Thrift; default: 10000")
    command.add_argument(
        "--http-host",
        metavar="HOST",
        default="127.0.0.1",
        help="host of the report, /health, /ready and /metrics; default: 127.0.0.1",
    )
    command.add_argument(
        "--http-port", metavar="PORT", type=int, default=10080, help="port of these; default: 10080"
    )
    command.add_argument(
        "--options-file",
        metavar="FILE",
        dest="thrift_options",
        type=os.path.abspath,
        help="options of Spark's Thrift server, for example authentication and TLS",
    )
    command.add_argument(
        "--read-only",
        action="store_true",
        help="let nobody write over Thrift; without it, the user who serves may, and others read",
    )
    add_project(command)
    _add_stop(commands)
    command.set_defaults(run=_serve, land=None)
    _add_schedule(command, every=None, test=False, on_new_data=False)
    for source in add_sources(command, are_required=False):
        hidden = argparse.SUPPRESS
        _add_schedule(source, every=hidden, test=hidden, on_new_data=hidden)


def _add_stop(commands: Commands) -> None:
    about = "end the Spark that commands of a terminal have left for the next ones"
    command = commands.add_parser("stop", help=about)
    add_project(command)
    command.set_defaults(run=_stop)


def _stop(options: argparse.Namespace) -> Exit:
    from cdc_lakehouse.runtime.served import end_kept, is_kept

    enter_project(options.project_dir)
    is_ended = end_kept()
    in_use = not is_ended and is_kept()
    said = "Spark is in use, and stays." if in_use else "No Spark is kept."
    document = {"ended": is_ended, "in_use": in_use}
    options.output.tell(document, "Spark has ended." if is_ended else said)
    return Exit.IN_PART if in_use else Exit.DONE


def _add_schedule(command: argparse.ArgumentParser, **defaults: object) -> None:
    command.add_argument(
        "--every",
        metavar="TIME",
        type=_seconds,
        default=defaults["every"],
        help="land and build, and again this long after each run: 30s, 5m, 1h; "
        "default: 60s with a SOURCE; without one, build only",
    )
    command.add_argument(
        "--on-new-data",
        action="store_true",
        default=defaults["on_new_data"],
        help="land and build as soon as something is new in SOURCE, or in bronze without one; "
        "--every is then the longest time without a run, default: 1h",
    )
    command.add_argument(
        "--test", action="store_true", default=defaults["test"], help="run dbt's data tests too"
    )


def _serve(options: argparse.Namespace) -> Exit:
    """Serve until SIGTERM or SIGINT."""
    from cdc_lakehouse.console.run import parse, run, start_spark
    from cdc_lakehouse.runtime.locks import hold_to_serve
    from cdc_lakehouse.serve.process import Request, serve
    from cdc_lakehouse.serve.thrift import read_options
    from dbt.adapters.lakehouse import connections

    show_as("serve")
    project = enter_project(options.project_dir)
    request = Request(
        host=options.host,
        port=options.port,
        http_host=options.http_host,
        http_port=options.http_port,
        options=read_options(options.thrift_options),
        is_read_only=options.read_only,
        every=options.every or (3600 if options.on_new_data else 60),
        look=_look(options) if options.on_new_data else None,
        tell=partial(_tell, options.output),
    )
    options.output.begin_lines()
    request.check()
    let_java_have_variables(options)
    parse()
    # Without a source another process lands, for example an ingest that stays up.
    land = partial(options.land, options, project) if options.land else lambda timings: None
    path = getattr(options, "path", None)

    def land_and_build(write_lock: AbstractContextManager[None]) -> tuple[Exit, dict[str, Any]]:
        try:
            report = run(land, path, options.test, write_lock=write_lock)
            return report.exit_code, report.document()
        finally:
            connections.release_metastore()

    with hold_to_serve():
        connections.hold_metastore()
        spark = start_spark(is_long=True)
        connections.release_metastore()
        runs = options.land is not None or options.every is not None or options.on_new_data
        serve(request, spark, project, land_and_build if runs else None)
    return Exit.DONE


def _tell(output: Output, event: str, **about: object) -> None:
    output.tell({"event": event, "at": datetime.now(UTC), **about})


def _look(options: argparse.Namespace) -> "Look":
    from cdc_lakehouse.serve.news import look_at_bronze, look_at_files, look_at_kafka

    if options.land is None:
        return look_at_bronze
    return look_at_files(options.path) if "path" in options else look_at_kafka(request_of(options))


def _seconds(text: str) -> int:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
