"""seeds/limits.csv: from where on a person should look at something."""

from dataclasses import dataclass
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import covers
from cdc_lakehouse.seeds import read_seed

FILE = Path("seeds", "limits.csv")
TEMPLATE = Path(__file__).parents[1] / "project_template"
COLUMNS = ["limit", "subject", "value"]
# Each with what it limits, and of which subjects.
KNOWN = {
    "rejected_share": "the share of a topic's messages that are rejected, 0 to 1",
    "missing_offsets": "offsets between the first and the last of a partition that no message has",
    "waiting_seconds": "for how long a message of a topic has landed and is not processed",
    "delay_seconds": "from the commit of a topic's latest change in the source to its processing",
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
        LakehouseError: the file is wrong; the text names file and line.
    """
    path = Path(project_dir, FILE)
    if not path.exists():
        path = TEMPLATE / FILE
    return Limits(tuple(read_seed(path, lambda reader: _checked(path, reader))))


def _checked(path, reader) -> list[tuple[str, str, float | None]]:
    if (header := next(reader, [])) != COLUMNS:
        raise LakehouseError(
            f"{path}, line 1: the header is {','.join(header)}. It must be {','.join(COLUMNS)}."
        )
    lines: dict[tuple[str, str], float | None] = {}
    for texts in filter(None, reader):
        where = f"{path}, line {reader.line_num}"
        if len(texts) != len(COLUMNS):
            raise LakehouseError(
                f"{where}: {len(texts)} fields where the header has {len(COLUMNS)}."
            )
        limit, subject, value = texts
        if limit not in KNOWN:
            raise LakehouseError(
                f"{where}: unknown limit {limit!r}. Use one of {', '.join(KNOWN)}."
            )
        if not subject:
            raise LakehouseError(f"{where}: the subject is empty. Name a topic or a table, or *.")
        if (limit, subject) in lines:
            raise LakehouseError(f"{where}: {limit} of {subject!r} is already above.")
        lines[limit, subject] = _number(where, value)
    return [(limit, subject, value) for (limit, subject), value in lines.items()]


def _number(where: str, text: str) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        number = -1.0
    if number is not None and not 0 <= number < float("inf"):
        raise LakehouseError(
            f"{where}: the value is {text!r}. Write a number from 0 on, or nothing for no limit."
        )
    return number
