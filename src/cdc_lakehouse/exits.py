"""The exit codes of all commands: docs/running.md has the same table for those who call them."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command; two names of one code are its meanings for two command kinds."""

    DONE = 0
    IN_PART = 1  # what was left out has been named
    FINDINGS = 1  # of a command that checks
    NOTHING = 2  # nothing was done, or nothing could be looked at; an error says why
    INTERRUPTED = 130  # as a shell has it of SIGINT
    BROKEN_PIPE = 141  # as a shell has it of a program whose output nobody reads any longer
