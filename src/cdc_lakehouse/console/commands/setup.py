"""`lakehouse setup`: what an installation needs and pip does not bring."""

import argparse

from cdc_lakehouse.console.commands.project import Commands


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("setup", help="fetch the Java libraries")
    command.set_defaults(run=_setup)


def _setup(options: argparse.Namespace) -> int:
    """Fetch the Java libraries that pyspark does not bring, and archive their classes."""
    from cdc_lakehouse.operate.archive_classes import make_archive
    from cdc_lakehouse.runtime.jars import FOLDER, fetch_jars

    print(f"{len(fetch_jars())} jars in {FOLDER}")
    if reason := make_archive():
        print(f"No archive of Java's classes, so each start takes longer: {reason}")
    return 0
