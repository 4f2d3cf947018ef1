"""`lakehouse timings`: see what the steps of the last commands took."""

import argparse

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("timings", help="print what the steps of the last runs took")
    command.add_argument(
        "command",
        metavar="COMMAND",
        nargs="?",
        help="for example dbt-build or ingest-files; default: the last ingest and the last dbt run",
    )
    command.add_argument("--steps", action="store_true", help="each step, not each model")
    command.add_argument("--json", action="store_true", help="for programs: each step, in seconds")
    command.set_defaults(run=_timings)
    add_project(command)


def _timings(options: argparse.Namespace) -> int:
    """Print the timings of one command, or of the last ingest and the last run of dbt."""
    from cdc_lakehouse.console.timings import print_timings

    enter_project(options.project_dir)
    print_timings(options.command, options.steps, options.json)
    return 0
