"""`lakehouse plan`: print what the next run of a table would do."""

import argparse

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "plan",
        help="say what the next run of a table would do, step by step; writes nothing",
        epilog="It reads what the run would read, since that decides what the run does.",
    )
    command.add_argument("table", metavar="TABLE", help="silver.events, or one like gold.orders")
    command.add_argument("--sql", action="store_true", help="show each statement below its step")
    command.set_defaults(run=_plan)
    add_project(command)


def _plan(options: argparse.Namespace) -> Exit:
    """Print the steps of the next run of a table."""
    from cdc_lakehouse.console.plan import plan_of

    enter_project(options.project_dir)
    found = plan_of(options.table)
    options.output.tell(found.document(), found.text(options.sql))
    return Exit.DONE
