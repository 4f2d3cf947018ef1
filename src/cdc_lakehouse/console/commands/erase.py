"""`lakehouse erase` and `lakehouse expire`: remove data subjects, and messages by their age."""

import argparse
from pathlib import Path

from cdc_lakehouse.console.commands.project import Commands, add_dry_run, add_project, enter_project
from cdc_lakehouse.console.output import plain
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.runtime.shown_command import show_as


def add(commands: Commands) -> None:
    """Add both commands to the parser."""
    command = commands.add_parser(
        "erase", help="remove data subjects from all tables and from disk"
    )
    command.add_argument(
        "table",
        metavar="DB.TABLE",
        nargs="?",
        help="the source table of the subjects; default: only complete an interrupted erasure",
    )
    command.add_argument(
        "--key",
        metavar="COLUMN=VALUE",
        action="append",
        help="key of one subject; once for each column of the key",
    )
    command.add_argument(
        "--keys-file", metavar="FILE", help="CSV: a header of key columns, one line per subject"
    )
    add_dry_run(command)
    command.set_defaults(run=_erase)
    add_project(command)

    command = commands.add_parser(
        "expire", help="drop old messages from bronze; silver and gold keep their results"
    )
    command.add_argument(
        "--older-than", metavar="AGE", required=True, help="age since the ingest: '400 days'"
    )
    add_dry_run(command)
    command.set_defaults(run=_expire)
    add_project(command)


def _erase(options: argparse.Namespace) -> Exit:
    """Remove data subjects from every table and from disk, and print what was removed."""
    from cdc_lakehouse.operate.erase import erase, read_key, read_keys
    from dbt.adapters.lakehouse import connections

    if options.key and options.keys_file:
        raise LakehouseError("Name one subject with --key, or several with --keys-file.")
    show_as("erase", *filter(None, [options.table]))
    subjects = [read_key(options.key)] if options.key else []
    if options.keys_file:
        subjects = read_keys(Path(options.keys_file).absolute())
    project_dir = enter_project(options.project_dir)
    report = erase(options.table, subjects, project_dir, options.dry_run, sessions=connections)
    options.output.tell({"is_complete": report.is_complete, "erased": report.erased}, report.text)
    return Exit.DONE if report.is_complete else Exit.IN_PART


def _expire(options: argparse.Namespace) -> Exit:
    """Drop processed messages from bronze by their age."""
    from cdc_lakehouse.operate.expire import expire_messages

    enter_project(options.project_dir)
    expired = expire_messages(options.older_than, options.dry_run)
    text = expired.text(options.older_than, options.dry_run)
    options.output.tell(plain(expired) | {"is_dry_run": options.dry_run}, text)
    return Exit.DONE
