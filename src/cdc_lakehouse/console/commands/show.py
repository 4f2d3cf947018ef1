"""`lakehouse show` and `lakehouse query`: look at the tables."""

import argparse
import sys

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit

VALUES = (
    "--json prints {columns: [{name, type}], rows: [[value, ...], ...], is_complete}, where "
    "is_complete is false if --rows left some out. Integers and floats are numbers, with all their "
    "digits; NaN and Infinity are text. Decimals are text, with all their digits, binary values "
    "hexadecimal text, times ISO 8601, in UTC. A program that reads numbers as doubles, as "
    "JavaScript does, rounds integers beyond 2^53: cast these to string."
)


def add(commands: Commands) -> None:
    """Add both commands to the parser."""
    command = commands.add_parser(
        "show", help="print a first look at the lakehouse, or one table", epilog=VALUES
    )
    command.add_argument("table", metavar="TABLE", nargs="?", help="for example gold.orders")
    command.add_argument(
        "--rows", type=int, metavar="N", default=20, help="rows to print; default: 20"
    )
    command.set_defaults(run=_show)
    add_project(command)

    command = commands.add_parser(
        "query", help="print the result of a SQL statement", epilog=VALUES
    )
    command.add_argument("sql", metavar="SQL")
    command.add_argument(
        "--rows", type=int, metavar="N", default=100, help="rows to print; default: 100"
    )
    command.add_argument(
        "--csv", action="store_true", help='CSV with a header; NULL is empty, an empty text is ""'
    )
    command.set_defaults(run=_query)
    add_project(command)


def _show(options: argparse.Namespace) -> Exit:
    """Print one table, or a first look at the whole lakehouse."""
    from cdc_lakehouse.console.overview import look
    from cdc_lakehouse.console.show import tables_session

    enter_project(options.project_dir)
    if options.table:
        return _answer(options, f"select * from {options.table}")
    with tables_session() as spark:
        found = look(spark, is_for_screen=not options.output.as_json)
    options.output.tell(found.document(), found.text())
    return Exit.IN_PART if found.problems else Exit.DONE


def _query(options: argparse.Namespace) -> Exit:
    """Print the result of a SQL statement."""
    if options.csv and options.output.as_json:
        raise LakehouseError("Give --csv or --json, not both.")
    enter_project(options.project_dir)
    return _answer(options, options.sql, options.csv)


def _answer(options: argparse.Namespace, sql: str, as_csv: bool = False) -> Exit:
    from cdc_lakehouse.console.show import run_query

    output = options.output
    answer = run_query(sql, options.rows, is_whole=as_csv or output.as_json)
    if output.as_json:
        output.tell(answer.document())
    else:
        output.tell(None, answer.csv() if as_csv else answer.text())
    if not answer.is_complete:
        said = f"lakehouse: only the first {options.rows:,} rows; --rows gives more."
        print(said, file=sys.stderr)
    return Exit.DONE
