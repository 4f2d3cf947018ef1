"""`lakehouse add-table`: write the gold model of a source table."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.errors import NOT_WRITABLE, LakehouseError
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "add-table", help="write the gold model of a table from what silver has seen"
    )
    command.add_argument(
        "table",
        metavar="DB.TABLE",
        nargs="?",
        help="source table, also DB.SCHEMA.TABLE; put names with dots in backticks",
    )
    command.add_argument(
        "--all", action="store_true", help="add every table that no model reads yet"
    )
    command.add_argument(
        "--key", metavar="A,B", help="key columns; default: those that the messages name"
    )
    command.add_argument("--as", dest="name", metavar="NAME", help="name of the model")
    command.add_argument(
        "--history", action="store_true", help="also write <name>_history, all versions of a row"
    )
    command.add_argument(
        "--infer",
        action="store_true",
        help="give columns without a type in the messages the type that all values seen fit; "
        "default: text, with that type in a comment",
    )
    command.set_defaults(run=_add_table)
    add_project(command)


def _add_table(options: argparse.Namespace) -> Exit:
    """Write the gold model of a source table, or of all that have none."""
    from cdc_lakehouse.console.show import tables_session
    from cdc_lakehouse.engine.source_tables import split_names
    from cdc_lakehouse.gold.add_table import Gold
    from cdc_lakehouse.gold.source_tables import find_table, seen_tables

    if options.all is bool(options.table):
        raise LakehouseError("Name one table, `lakehouse add-table DB.TABLE`, or give --all.")
    if options.all and (options.key or options.name):
        raise LakehouseError("--key and --as are of one table: name it instead of --all.")
    project_dir = enter_project(options.project_dir)
    with tables_session() as spark:
        tables = seen_tables(spark)
    gold = Gold(project_dir)
    with writing_models():
        if options.all:
            lines, failures = gold.add_all(tables, options.history, options.infer)
        else:
            key = split_names(options.key, ",") if options.key else None
            table = find_table(tables, options.table)
            added = gold.add(table, key, options.name, options.history, options.infer)
            next_step = "Fill in what the descriptions do not say, then run `dbt build`."
            lines, failures = [added, next_step], 0
    document = {"models": gold.written, "not_added": gold.not_added}
    options.output.tell(document, "\n".join(lines))
    return Exit.IN_PART if failures else Exit.DONE


@contextmanager
def writing_models() -> Iterator[None]:
    """Say in a sentence that a checkout cannot be written, as that of a scheduler may be.

    Raises:
        LakehouseError: the project's files are read-only.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        raise LakehouseError(
            f"{error.filename} cannot be written: {error.strerror}. Models are written into "
            "the project: run this on a checkout that is writable."
        ) from None
