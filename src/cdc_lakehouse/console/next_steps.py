"""Suggest what to type next, in commands that work in the user's shell."""

import os
import sys
from pathlib import Path

# Before a command changes to the folder of its project.
STARTED_IN = Path.cwd()


def next_steps(table: str, has_rejected: bool) -> list[str]:
    """Return three lines, each a command and what it is for.

    Args:
        table: the name of one that is there.
        has_rejected: whether there is a message that silver has rejected.
    """
    asked = "silver.rejected_by_reason" if has_rejected else "silver.message_accounting"
    name = program()
    return [
        f"A table:  {name} show {table}",
        f"A report: {name} report --open",
        f'SQL:      {name} query "select * from {asked}"',
    ]


def program() -> str:
    """Return how the shell finds this program: by its name only if its environment is active.

    `make run` puts the environment into its own PATH, of which the shell that called it knows
    nothing.
    """
    folder = Path(sys.prefix) / "bin"
    is_from_there = Path(sys.argv[0]).parent.absolute() == folder
    is_active = sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV"))
    if is_active or not is_from_there:
        return "lakehouse"
    path = folder / "lakehouse"
    return str(path.relative_to(STARTED_IN) if path.is_relative_to(STARTED_IN) else path)
