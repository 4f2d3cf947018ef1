"""`lakehouse run`: land what is new and build silver and gold, in one process with one Spark."""

import argparse
from functools import partial

from cdc_lakehouse.console.commands.ingest import add_sources, let_java_have_variables
from cdc_lakehouse.console.commands.project import Commands, enter_project
from cdc_lakehouse.console.next_steps import program
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.package import has_silver
from cdc_lakehouse.runtime.shown_command import show_as


def add(commands: Commands) -> None:
    """Add the command, with one subcommand for each source, to the parser."""
    about = "land what is new, then build silver and gold: the command for a schedule"
    for command in add_sources(commands.add_parser("run", help=about)):
        command.add_argument("--test", action="store_true", help="run dbt's data tests too")
        command.add_argument(
            "--show", action="store_true", help="show what came out, as `show` does"
        )
        command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> Exit:
    """Land what is new, build the models, and print the result of both."""
    from cdc_lakehouse.console.run import run

    path = getattr(options, "path", None)
    show_as("run", *(["files", path] if path else ["kafka"]))
    project_dir = enter_project(options.project_dir)
    let_java_have_variables(options)
    land = partial(options.land, options, project_dir)
    report = run(land, path, options.test, options.show)
    text = f"\n{report.overview.text()}" if report.overview else ""
    if report.overview and has_silver(project_dir):  # the sample project: it is not a user's
        text += f"\nYour own: {program()} init ../NAME"
    options.output.tell(report.document(), text)
    return report.exit_code
