"""`lakehouse report` and `lakehouse check`: see how the lakehouse is."""

import argparse
import os

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project


def add(commands: Commands) -> None:
    """Add both commands to the parser."""
    command = commands.add_parser(
        "report",
        help="write a page for the browser: topics, lag, rejected messages, drift, gold, runs",
    )
    command.add_argument(
        "--out",
        metavar="FILE",
        type=os.path.abspath,
        help="the HTML file; default: report.html in LAKEHOUSE_DIR",
    )
    command.add_argument("--open", action="store_true", help="open it in the browser")
    command.add_argument(
        "--with-values",
        action="store_true",
        help="show values of rows too: bytes of rejected messages, values that do not fit",
    )
    command.set_defaults(run=_report)
    add_project(command)

    command = commands.add_parser(
        "check",
        help="print what is beyond a limit of seeds/limits.csv, a line each; exit code 1 if any is",
    )
    command.add_argument("--json", action="store_true", help="for programs: a list of findings")
    command.set_defaults(run=_check)
    add_project(command)


def _report(options: argparse.Namespace) -> int:
    """Write the report, and print where it is and what is to be looked at."""
    from cdc_lakehouse.console.checking import write_report

    write_report(enter_project(options.project_dir), options.out, options.with_values, options.open)
    return 0


def _check(options: argparse.Namespace) -> int:
    """Print the findings; the exit code tells whether there are any."""
    from cdc_lakehouse.console.checking import print_findings

    return 1 if print_findings(enter_project(options.project_dir), options.json) else 0
