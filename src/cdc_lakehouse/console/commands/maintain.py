"""`lakehouse maintain`: compact and vacuum the tables."""

import argparse

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("maintain", help="compact and vacuum all tables")
    command.add_argument(
        "--retention",
        metavar="TIME",
        default="7 days",
        help="how long to keep replaced files; default: 7 days",
    )
    command.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        default=0,
        help="how long to wait for dbt to end; default: 0",
    )
    command.set_defaults(run=_maintain)
    add_project(command)


def _maintain(options: argparse.Namespace) -> Exit:
    """Compact, checkpoint and vacuum the tables, and print what became of each."""
    from cdc_lakehouse.console.report import maintain_text
    from cdc_lakehouse.operate.maintain import maintain, parse_duration

    enter_project(options.project_dir)
    report = maintain(parse_duration(options.retention), options.wait)
    options.output.tell(report, maintain_text(report))
    return Exit.IN_PART if report.problems else Exit.DONE
