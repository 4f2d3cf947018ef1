"""`lakehouse show` and `lakehouse query`: look at the tables."""

import argparse

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project


def add(commands: Commands) -> None:
    """Add both commands to the parser."""
    command = commands.add_parser("show", help="print a view of the lakehouse, or one table")
    command.add_argument("table", metavar="TABLE", nargs="?", help="for example gold.orders")
    command.add_argument("--rows", type=int, metavar="N", default=20, help="of TABLE; default: 20")
    command.set_defaults(run=_show)
    add_project(command)

    command = commands.add_parser("query", help="print the result of a SQL statement")
    command.add_argument("sql", metavar="SQL")
    command.add_argument("--rows", type=int, metavar="N", default=100, help="default: 100")
    command.add_argument(
        "--csv", action="store_true", help='CSV with a header; NULL is empty, an empty text is ""'
    )
    command.set_defaults(run=_query)
    add_project(command)


def _show(options: argparse.Namespace) -> int:
    """Print one table, or a view of the whole lakehouse."""
    from cdc_lakehouse.console.show import run_query, show_tables, tables_session

    enter_project(options.project_dir)
    if options.table:
        run_query(f"select * from {options.table}", options.rows)
        return 0
    with tables_session() as spark:
        return 0 if show_tables(spark) else 1


def _query(options: argparse.Namespace) -> int:
    """Print the result of a SQL statement."""
    from cdc_lakehouse.console.show import run_query

    enter_project(options.project_dir)
    run_query(options.sql, options.rows, csv=options.csv)
    return 0
