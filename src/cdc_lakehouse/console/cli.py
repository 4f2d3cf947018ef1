"""The `lakehouse` command: its parser, and its exit codes."""

import argparse
import os
import select
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
    report,
    run,
    serve,
    setup,
    show,
    timings,
)
from cdc_lakehouse.errors import LakehouseError

# As a shell has it of a program whose output nobody reads any longer.
BROKEN_PIPE = 141

# In the order of `lakehouse --help`. A family imports what it runs where it runs it, so that
# `--help` and a wrong argument wait for no Spark.
FAMILIES = (
    setup,
    init,
    ingest,
    run,
    serve,
    replay,
    maintain,
    show,
    report,
    timings,
    add_table,
    add_format,
    erase,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 done in part, 2 nothing done.

    130 if somebody interrupts it, 141 if nobody reads what it prints.
    """
    options = _parser().parse_args(arguments)
    try:
        code = options.run(options)
        sys.stdout.flush()
        return code
    except (LakehouseError, BrokenPipeError) as error:
        # Of Spark, too, a broken pipe is an error in short; then Java has ended.
        is_broken_pipe = BrokenPipeError in (type(error), type(error.__context__))
        if is_broken_pipe and _has_lost_its_reader():
            # Python would stumble over it once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        if not isinstance(error, LakehouseError):
            raise
        print(f"lakehouse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lakehouse: interrupted; the next run completes what was begun.", file=sys.stderr)
        return 130


def _has_lost_its_reader() -> bool:
    """Tell whether nobody reads standard output any longer, as of `lakehouse show | head`."""
    pipe = select.poll()
    try:
        pipe.register(sys.stdout.fileno(), 0)
    except OSError:  # it is no file at all
        return False
    return any(event & select.POLLERR for _, event in pipe.poll(0))


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
