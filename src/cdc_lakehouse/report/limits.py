"""seeds/limits.csv: the limits beyond which a person should look at something."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cdc_lakehouse.routes import covers
from cdc_lakehouse.seeds import Line, read_seed, use_one_of

FILE = Path("seeds", "limits.csv")
TEMPLATE = Path(__file__).parents[1] / "project_template"
COLUMNS = ["limit", "subject", "value"]
# Each with what it limits, and of which subjects.
KNOWN = {
    "rejected_share": "the share of a topic's messages that are rejected, 0 to 1",
    "missing_offsets": "offsets between the first and the last of a partition that no message has",
    "waiting_seconds": "for how long a message of a topic has landed and is not processed",
    "delay_seconds": "from the commit of a topic's latest change in the source to its processing",
    "incomplete_seconds": "from the commit up to which a source with a name is complete to that of "
    "its newest change",
    "silence_seconds": "since a message of a topic, or a change of a source table, came",
    "drift_days": "for how long a change of a source table is worth a look once it is seen here; "
    "a change of its columns is until the models follow it",
    "unread_tables": "changes of a source table that no gold model reads",
    "shared_keys": "keys of a gold table that rows of several of its source tables have",
    "problems": "values of a gold table that do not fit, and changes without a key",
}


@dataclass(frozen=True)
class Limits:
    """The lines of the file: of those that cover a subject, the most specific one counts."""

    lines: tuple[tuple[str, str, float | None], ...]

    def value(self, limit: str, subject: str) -> float | None:
        """Return the value of a limit for a topic or a table; None if there is no limit."""
        covering = [
            (subject == pattern, len(pattern.replace("*", "")), pattern, value)
            for name, pattern, value in self.lines
            if name == limit and covers(pattern, subject)
        ]
        return max(covering, key=lambda line: line[:3])[3] if covering else None


def read_limits(project_dir: Path) -> Limits:
    """Read and check the project's seeds/limits.csv, or that of a new project if there is none.

    Raises:
        LakehouseError: the file is wrong; the text names all wrong lines.
    """
    path = Path(project_dir, FILE)
    if not path.exists():
        path = TEMPLATE / FILE
    return Limits(tuple(read_seed(path, _header_problem, _checked)))


def _header_problem(header: list[str]) -> str | None:
    if header == COLUMNS:
        return None
    return f"the header is {','.join(header)}. It must be {','.join(COLUMNS)}."


def _checked(lines: Iterable[Line]) -> list[tuple[str, str, float | None]]:
    values: dict[tuple[str, str], float | None] = {}
    for line in lines:
        limit, subject, value = line.texts.values()
        if limit not in KNOWN:
            line.refuse(f"unknown limit {limit!r}. {use_one_of(limit, KNOWN)}")
        if not subject:
            line.refuse("the subject is empty. Name a topic or a table, or *.")
        if (limit, subject) in values:
            line.refuse(f"{limit} of {subject!r} is already above.")
        values[limit, subject] = _number(line, value)
    return [(limit, subject, value) for (limit, subject), value in values.items()]


def _number(line: Line, text: str) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        number = -1.0
    if number is not None and not 0 <= number < float("inf"):
        line.refuse(f"the value is {text!r}. Write a number from 0 on, or nothing for no limit.")
    return number
