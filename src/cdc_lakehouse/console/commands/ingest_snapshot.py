"""`lakehouse ingest snapshot`: land a full extract of a table, or compare it with gold."""

import argparse
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cdc_lakehouse.console.commands.project import add_project, enter_project
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.exits import Exit

if TYPE_CHECKING:
    from cdc_lakehouse.operate.reconcile.compare import Comparison
    from cdc_lakehouse.operate.reconcile.landing import Request


def add_snapshot(ingest: argparse.ArgumentParser) -> None:
    """Add the subcommand to the parser of `lakehouse ingest`."""
    sources = next(a for a in ingest._actions if isinstance(a, argparse._SubParsersAction))
    command = sources.add_parser(
        "snapshot", help="land a full extract of a table; rows that it lacks are deleted"
    )
    command.add_argument(
        "files", metavar="FILE", nargs="*", type=os.path.abspath, help="Parquet, CSV or JSON lines"
    )
    command.add_argument(
        "--table", required=True, metavar="DB.TABLE", help="source table, as its feed names it"
    )
    command.add_argument(
        "--taken-at",
        required=True,
        metavar="TIME",
        type=_moment,
        help='when reading it began: "2026-11-28 10:00:00" in UTC, or with an offset; '
        "in doubt an earlier moment",
    )
    command.add_argument(
        "--key", metavar="A,B", help="columns of the key; default: that of the gold model"
    )
    command.add_argument(
        "--partial", action="store_true", help="the extract may lack columns; no row is deleted"
    )
    command.add_argument(
        "--jdbc",
        metavar="URL",
        default="",
        help="read it from a database: jdbc:postgresql://HOST/DATABASE; user and password are in "
        "LAKEHOUSE_JDBC_USER and LAKEHOUSE_JDBC_PASSWORD",
    )
    command.add_argument(
        "--query", metavar="SQL", default="", help="query for its rows, with --jdbc"
    )
    command.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="option of Spark's reader",
    )
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="land nothing: say which rows of the gold table are missing, extra or different",
    )
    add_project(command, default=argparse.SUPPRESS)
    command.set_defaults(run=_ingest_snapshot)


def _moment(text: str) -> datetime:
    """Return a moment in UTC, cut to the second."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        shown = f"{text!r} is no time such as 2026-11-28 10:00:00 or 2026-11-28T10:00:00+08:00"
        raise argparse.ArgumentTypeError(shown) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC, microsecond=0).astimezone(UTC)


def _ingest_snapshot(options: argparse.Namespace) -> Exit:
    from cdc_lakehouse.console.reconciled import comparison_text, extract_text

    request, project = request_of(options), enter_project(options.project_dir)
    if options.dry_run:
        found = _compared(request, project)
        options.output.tell(found, comparison_text(found))
        return Exit.DONE if found.agrees else Exit.FINDINGS
    from cdc_lakehouse.operate.reconcile.landing import land_extract

    report = land_extract(request, project)
    options.output.tell(report, extract_text(report))
    return Exit.DONE


def _compared(request: "Request", project: Path) -> "Comparison":
    """Compare an extract with gold, on the Spark of dbt, which compiles the gold model first."""
    from dbt_common.exceptions import DbtRuntimeError

    from cdc_lakehouse.operate.reconcile.compare import compare_extract
    from cdc_lakehouse.operate.reconcile.compiled import compiled_model
    from cdc_lakehouse.runtime.paths import work_dir
    from cdc_lakehouse.runtime.session import compile_plans, failing_in_short
    from cdc_lakehouse.storage.files import make_folder
    from dbt.adapters.lakehouse import connections

    model = compiled_model(request.table, project)
    temporary = make_folder(work_dir() / "tmp")
    with failing_in_short(), tempfile.TemporaryDirectory(dir=temporary) as folder:
        try:
            spark = connections.root_session({}).newSession()
        except DbtRuntimeError as error:
            raise LakehouseError(short_message(error)) from None
        compile_plans(spark, True)
        return compare_extract(spark, request, project, model, Path(folder, "extract"))


def request_of(options: argparse.Namespace) -> "Request":
    """Return what the options ask.

    Raises:
        LakehouseError: they name no extract, or two.
    """
    from cdc_lakehouse.engine.source_tables import split_names
    from cdc_lakehouse.operate.reconcile.landing import Request
    from cdc_lakehouse.operate.reconcile.source import Source

    if bool(options.files) == bool(options.jdbc):
        raise LakehouseError("Name the files of the extract, or a database with --jdbc URL.")
    if bool(options.jdbc) != bool(options.query):
        raise LakehouseError("--jdbc URL and --query SQL belong together.")
    if options.jdbc and "password" in options.jdbc.lower():
        raise LakehouseError(
            "--jdbc holds a password, which other users of this machine could see. Set "
            "LAKEHOUSE_JDBC_PASSWORD and leave it out there."
        )
    given = [option.partition("=") for option in options.option]
    for name, equals, _ in given:
        if not (name and equals):
            raise LakehouseError(f"--option {name} is no NAME=VALUE.")
        if name.lower() in ("user", "password"):
            raise LakehouseError(
                f"--option {name} could be seen by other users of this machine. Set "
                f"LAKEHOUSE_JDBC_{name.upper()}."
            )
    source = Source(
        options.files, options.jdbc, options.query, {name: value for name, _, value in given}
    )
    key = split_names(options.key, ",") if options.key else ()
    return Request(options.table, source, options.taken_at, key, options.partial)
