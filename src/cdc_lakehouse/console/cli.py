"""The `lakehouse` command: its parser, and its exit codes."""

import argparse
import sys
from importlib.metadata import version

from cdc_lakehouse.console.commands import (
    add_format,
    add_table,
    erase,
    ingest,
    init,
    maintain,
    replay,
    run,
    setup,
    show,
    timings,
)
from cdc_lakehouse.errors import LakehouseError

# In the order of `lakehouse --help`. A family imports what it runs where it runs it, so that
# `--help` and a wrong argument wait for no Spark.
FAMILIES = (
    setup,
    init,
    ingest,
    run,
    replay,
    maintain,
    show,
    timings,
    add_table,
    add_format,
    erase,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 done in part, 2 nothing done."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except LakehouseError as error:
        print(f"lakehouse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lakehouse: interrupted; the next run completes what was begun.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lakehouse", description="Land change messages and look at the tables made of them."
    )
    released = f"lakehouse {version('cdc_lakehouse')}"
    parser.add_argument("--version", action="version", version=released)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for family in FAMILIES:
        family.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
