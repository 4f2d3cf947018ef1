"""Print what a command did: text for a person, or with --json documents for programs."""

import argparse
import io
import json
import os
import select
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import PurePath
from typing import Any, TextIO

from cdc_lakehouse.storage.objects import ObjectPath

HELP = "print one JSON document and nothing else; what people read goes to standard error"


class Output:
    """What one command prints.

    With --json, standard output has the documents alone: all else that is printed meanwhile, by
    dbt and by Java too, goes to standard error.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._stream: TextIO = sys.stdout
        self._is_told = self._has_lines = False

    @contextmanager
    def opened(self) -> Iterator["Output"]:
        """Keep standard output for the documents, if there are any."""
        with ExitStack() as stack:
            if self.as_json:
                sys.stdout.flush()
                self._stream = stack.enter_context(_only_for_documents(sys.stdout))
                stack.enter_context(redirect_stdout(sys.stderr))
            yield self
            sys.stdout.flush()

    def begin_lines(self) -> None:
        """Let each document have a line of its own, as of a command that stays up."""
        self._has_lines = True

    def tell(self, document: object, text: str = "") -> None:
        """Say what came out: the text to a person, the document to a program that has asked for it.

        Args:
            document: what `plain` takes.
            text: with --json it goes to standard error.
        """
        if text:
            print(text)
        if self.as_json:
            self._is_told = True
            indent = None if self._has_lines else 2
            print(json.dumps(plain(document), indent=indent), file=self._stream, flush=True)

    def tell_error(self, text: str) -> None:
        """Say to a program why nothing, or nothing more, was done; a person has read it."""
        if self._has_lines or not self._is_told:
            self.tell({"error": text})

    def has_lost_its_reader(self) -> bool:
        """Tell whether nobody reads the output any longer, as of `lakehouse show | head`."""
        pipe = select.poll()
        try:
            pipe.register(self._stream.fileno(), 0)
        except (OSError, ValueError):  # it is no file at all
            return False
        return any(event & select.POLLERR for _, event in pipe.poll(0))

    def let_go(self) -> None:
        """Write no more: Python would stumble over what is left of it once more at its end."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


@contextmanager
def _only_for_documents(stream: TextIO) -> Iterator[TextIO]:
    """Yield where documents go; what this process and those that it starts print goes elsewhere."""
    try:
        is_standard = stream.fileno() == 1
    except (OSError, ValueError):  # a text in memory
        is_standard = False
    if not is_standard:
        yield stream
        return
    kept = os.dup(1)
    os.dup2(2, 1)
    documents = io.TextIOWrapper(os.fdopen(kept, "wb"), encoding="utf-8")
    try:
        yield documents
    finally:
        os.dup2(kept, 1)
        documents.close()


def add_json(command: argparse.ArgumentParser, is_inherited: bool = False) -> None:
    """Add --json to each command of a parser that runs something, unless it has one of its own.

    Args:
        is_inherited: whether the command that this one belongs to has the option, too.
    """
    runs = is_inherited or command.get_default("run") is not None
    if runs and "--json" not in command._option_string_actions:
        default = argparse.SUPPRESS if is_inherited else False
        command.add_argument(
            "--json", dest="as_json", action="store_true", default=default, help=HELP
        )
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                add_json(inner, is_inherited=runs)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses as objects, times as ISO 8601 in UTC."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath | ObjectPath):
        return str(value)
    return value
