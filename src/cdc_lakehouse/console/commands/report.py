"""`lakehouse report` and `lakehouse check`: show the state of the lakehouse."""

import argparse
import os

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit


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
    command.set_defaults(run=_check)
    add_project(command)


def _report(options: argparse.Namespace) -> Exit:
    """Write the report, and print where it is and what is to be looked at."""
    from cdc_lakehouse.console.checking import headline, open_page, write_report

    project = enter_project(options.project_dir)
    path, line, found = write_report(project, options.out, options.with_values)
    document = {"file": path, "first_line": line, "findings": found}
    options.output.tell(document, f"{path}: {headline(found)}\n{line}")
    if options.open:
        open_page(path)
    return Exit.DONE


def _check(options: argparse.Namespace) -> Exit:
    """Print the findings; the exit code tells whether there are any."""
    from cdc_lakehouse.console.checking import check, findings_text

    found = check(enter_project(options.project_dir))
    options.output.tell(found, findings_text(found))
    return Exit.FINDINGS if found else Exit.DONE
