"""Read the CSV files of a project's seeds/, and report all errors of a file at once."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cdc_lakehouse.errors import LakehouseError

if TYPE_CHECKING:
    from _csv import Reader

T = TypeVar("T")


class Problems:
    """What is wrong in a file: sentences, in the order of the lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: list[str] = []

    def add(self, number: int, text: str) -> None:
        """Note what is wrong in a line, and what to do."""
        self._texts.append(f"{self._path}, line {number}: {text}")

    def refuse(self) -> None:
        """Raise what was noted, if anything was.

        Raises:
            LakehouseError: a line of its text for each problem.
        """
        if self._texts:
            raise LakehouseError("\n".join(self._texts))


@dataclass(frozen=True)
class Line:
    """A line of a file: its number, and the text of each column without blanks around it."""

    number: int
    texts: dict[str, str]
    problems: Problems

    def refuse(self, text: str) -> None:
        """Note what is wrong in the line, and what to do."""
        self.problems.add(self.number, text)


def read_seed(
    path: Path,
    header_problem: Callable[[list[str]], str | None],
    made: Callable[[Iterable[Line]], T],
) -> T:
    """Return what `made` makes of the lines of a file, unless anything is wrong in it.

    Blanks around names are no part of them. Empty lines are left out.

    Args:
        header_problem: says what is wrong with the header; None if nothing is.
        made: is given the lines that have as many fields as the header.

    Raises:
        LakehouseError: the file cannot be read, or is wrong: all that is, with the lines.
    """
    problems = Problems(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            if said := header_problem(header):
                problems.add(1, said)
                problems.refuse()
            value = made(_lines(reader, header, problems))
    except csv.Error as error:
        problems.add(reader.line_num, f"it is no CSV: {error}. The lines below it were not read.")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LakehouseError(f"{path} cannot be read as CSV in UTF-8: {reason}.") from None
    problems.refuse()
    return value


def _lines(reader: "Reader", header: list[str], problems: Problems) -> Iterable[Line]:
    for texts in reader:
        if not any(text.strip() for text in texts) and len(texts) <= 1:
            continue
        if len(texts) != len(header):
            problems.add(
                reader.line_num,
                f"{len(texts)} fields where the header has {len(header)}. "
                "Write one comma between two columns, also where a column is empty.",
            )
            continue
        yield Line(reader.line_num, dict(zip(header, map(str.strip, texts), strict=True)), problems)


def use_one_of(name: str, known: Iterable[str], others: str = "", listed: str = "") -> str:
    """Return what to write in the place of a name that is not known: those that are alike, or all.

    Args:
        others: what else can be done.
        listed: what a long list is called.
    """
    close = get_close_matches(name, sorted(known), n=3)
    if close:
        *rest, last = sorted(close, key=lambda each: not each.startswith(name))
        guess = f"{', '.join(rest)} or {last}" if rest else last
        return f"Did you mean {guess}?" + (f" Or {others}." if others else "")
    return f"Use one of {listed or ', '.join(known)}{f', or {others}' if others else ''}."
