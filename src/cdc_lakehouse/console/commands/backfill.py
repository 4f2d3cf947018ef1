"""`lakehouse backfill`: land an archive of older messages beside a live feed."""

import argparse
import os

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "backfill",
        help="land an archive of older messages beside a live feed",
        description="Lands the files of an archive, each once and in one commit, and first "
        "compares their messages with those of bronze. Run `dbt build` afterwards.",
    )
    command.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=os.path.abspath,
        help="A folder, read recursively, or one file: Parquet in the shape of Spark's Kafka "
        "source, or lines.",
    )
    command.add_argument(
        "--topic",
        metavar="OLD=NEW",
        action="append",
        default=[],
        help="Lands the archive's topic OLD under the name NEW. Each * in OLD is any text, and "
        "takes the place of the * in NEW: 'prod.*.v1=*'. Several are allowed.",
    )
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="Shows what would land, and how much of it bronze has already. Lands nothing.",
    )
    command.add_argument(
        "--accept-conflicts",
        action="store_true",
        help="Lands messages whose topic, partition and offset are known with other bytes. The "
        "bytes that silver processes first stay; silver.conflicting_messages names them.",
    )
    command.add_argument(
        "--accept-erased",
        action="store_true",
        help="Lands messages that `lakehouse erase` has removed. Erase them again afterwards.",
    )
    command.set_defaults(run=_backfill)
    add_project(command)


def _backfill(options: argparse.Namespace) -> Exit:
    """Land an archive, or say what would land, and print it."""
    from cdc_lakehouse.console.documents import landed_document
    from cdc_lakehouse.console.report import backfill_text
    from cdc_lakehouse.ingest.backfill import Request, backfill
    from cdc_lakehouse.ingest.names import Names

    request = Request(
        paths=tuple(options.paths),
        names=Names.parse(options.topic),
        is_dry_run=options.dry_run,
        accept_conflicts=options.accept_conflicts,
        accept_erased=options.accept_erased,
    )
    report = backfill(request, enter_project(options.project_dir))
    options.output.tell(landed_document(report), backfill_text(report))
    return Exit.IN_PART if report.problems or report.refusals else Exit.DONE
