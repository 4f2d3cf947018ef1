"""`lakehouse timings`: print how long the steps of the last commands took."""

import argparse

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("timings", help="print what the steps of the last runs took")
    command.add_argument(
        "command",
        metavar="COMMAND",
        nargs="?",
        help="for example dbt-build or ingest-files; default: the last ingest and the last dbt run",
    )
    command.add_argument("--steps", action="store_true", help="show each step, not each model")
    command.set_defaults(run=_timings)
    add_project(command)


def _timings(options: argparse.Namespace) -> Exit:
    """Print the timings of one command, or of the last ingest and the last run of dbt."""
    from cdc_lakehouse.console.timings import find_timings, timings_text

    enter_project(options.project_dir)
    found = find_timings(options.command)
    text = "\n\n".join(timings_text(timings, options.steps) for timings in found)
    options.output.tell(found, text)
    return Exit.DONE
