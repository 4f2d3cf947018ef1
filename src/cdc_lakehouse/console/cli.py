"""The `lakehouse` command: its parser, its errors and its exit codes."""

import argparse
import sys
from typing import NoReturn

from cdc_lakehouse.console.commands import (
    add_format,
    add_table,
    backfill,
    contract,
    erase,
    ingest,
    init,
    lineage,
    maintain,
    pages,
    plan,
    replay,
    report,
    run,
    serve,
    setup,
    show,
    sync,
    timings,
    wait,
)
from cdc_lakehouse.console.output import Output, add_json
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.package import RELEASE

# In the order of `lakehouse --help`. Each command gets --json here, and says through
# `options.output` what it did. A family imports what it runs where it runs it, so that
# `--help` and a wrong argument wait for no Spark.
FAMILIES = (
    setup,
    init,
    ingest,
    backfill,
    run,
    serve,
    replay,
    maintain,
    show,
    plan,
    report,
    wait,
    timings,
    add_table,
    sync,
    add_format,
    erase,
    contract,
    lineage,
    pages,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        options = _parser().parse_args(given)
    except _Misused as error:
        # A program that asked for JSON gets it, even if no command was recognized.
        Output("--json" in given).tell_error(str(error))
        raise SystemExit(Exit.NOTHING) from None
    with Output(getattr(options, "as_json", False)).opened() as output:
        options.output = output
        return _run(options)


def _run(options: argparse.Namespace) -> Exit:
    output = options.output
    try:
        code: Exit = options.run(options)
        sys.stdout.flush()
        return code
    except (LakehouseError, BrokenPipeError) as error:
        # Spark's broken pipe, after Java has ended, comes as a LakehouseError, too.
        is_broken_pipe = BrokenPipeError in (type(error), type(error.__context__))
        if is_broken_pipe and output.has_lost_its_reader():
            output.let_go()
            return Exit.BROKEN_PIPE
        if not isinstance(error, LakehouseError):
            raise
        print(f"lakehouse: {error}", file=sys.stderr)
        output.tell_error(str(error))
        return Exit.NOTHING
    except KeyboardInterrupt:
        said = "interrupted; the next run completes what was begun."
        print(f"lakehouse: {said}", file=sys.stderr)
        output.tell_error(said)
        return Exit.INTERRUPTED


class _Misused(Exception):
    """An error in the arguments; the usage has been printed."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        raise _Misused(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lakehouse", description="Land change messages and look at the tables made of them."
    )
    parser.add_argument("--version", action="version", version=f"lakehouse {RELEASE}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for family in FAMILIES:
        family.add(commands)
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
