"""`lakehouse contract`: print what readers of gold may rely on."""

import argparse

from cdc_lakehouse.console.commands.project import (
    Commands,
    add_output_file,
    add_project,
    enter_project,
    write_or_print,
)
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "contract",
        help="print the data contract of gold tables, by the Open Data Contract Standard",
        epilog="It reads the project's files alone: it needs no Spark and waits for no run.",
    )
    command.add_argument(
        "tables", metavar="TABLE", nargs="*", help="for example gold.orders; default: all of gold"
    )
    add_output_file(command, "write it there; default: print it")
    command.set_defaults(run=_contract)
    add_project(command)


def _contract(options: argparse.Namespace) -> Exit:
    """Write or print the contract as YAML."""
    import yaml

    from cdc_lakehouse.console.contract import contract_of

    document = contract_of(enter_project(options.project_dir), options.tables)
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    write_or_print(options, document, text.rstrip("\n"), f"{len(document['schema'])} tables")
    return Exit.DONE
