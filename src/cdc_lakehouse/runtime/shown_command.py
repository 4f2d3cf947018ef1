"""The command of this process, as locks, leases, logs and dbt's artifacts name it."""

import os
import sys


def show_as(*words: str) -> None:
    """Let this process be known by these words of its command line alone: options may be secrets.

    dbt writes what follows the program into its artifacts, and takes it from here.
    """
    sys.argv[1:] = words


def shown_command(words: int | None = None) -> str:
    """Return the command.

    Args:
        words: how many words behind the program; None stands for all.
    """
    program, *arguments = sys.argv
    return " ".join([os.path.basename(program), *arguments[:words]])[:200]
