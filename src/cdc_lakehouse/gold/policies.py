"""seeds/gold_tables.csv: which tables get a gold model, and which changes models follow."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from cdc_lakehouse.engine.materializations import GOLD, OTHER_NAMES
from cdc_lakehouse.engine.row_images import texts_of_stars
from cdc_lakehouse.engine.source_tables import SourceTable, split_names
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.seeds import Line, read_seed, use_one_of

FILE = Path("seeds", "gold_tables.csv")
# The words of each column; the first is that of an empty field.
WORDS = {
    "materialization": (*GOLD, *OTHER_NAMES),
    "add": ("report", "apply"),
    "widen": ("report", "apply"),
    "rename": ("report", "apply"),
    "drop": ("report", "keep"),
}
# What `{1}` in a name stands for: the text of the first `*` of the pattern.
_PLACE = re.compile(r"\{([0-9]+)\}")


@dataclass(frozen=True)
class TablePolicy:
    """A line of the file; an empty name is that of the table, an empty key that of the messages."""

    pattern: str
    name: str = ""
    key: str = ""
    materialization: str = "current_state"
    add: str = "report"
    widen: str = "report"
    rename: str = "report"
    drop: str = "report"

    @property
    def key_columns(self) -> list[str] | None:
        """The columns of the key; None for those that messages name."""
        return split_names(self.key, ",") if self.key else None

    def follows(self, kind: str) -> bool:
        """Tell whether a kind of change is followed, and not only reported."""
        return str(getattr(self, kind)) != "report"

    def name_of(self, table: SourceTable) -> str | None:
        """Return the name of the model of a table; None if it is that of the table."""
        stars = texts_of_stars(self.pattern, table) or ()
        name = _PLACE.sub(lambda place: stars[int(place[1]) - 1], self.name)
        return re.sub("[^a-z0-9]+", "_", name.lower()).strip("_") or None


# That of tables that no line covers.
REPORT = TablePolicy("")
COLUMNS = tuple(field.name for field in fields(TablePolicy))


@dataclass(frozen=True)
class Policies:
    """The lines of the file: of those that cover a table, the most specific one counts."""

    lines: tuple[TablePolicy, ...] = ()

    def of(self, table: SourceTable) -> TablePolicy | None:
        """Return the line of a table; None if no line covers it."""
        covering = [x for x in self.lines if texts_of_stars(x.pattern, table) is not None]
        return max(covering, key=_precedence, default=None)


def _precedence(line: TablePolicy) -> tuple[bool, int, str]:
    return "*" not in line.pattern, len(line.pattern.replace("*", "")), line.pattern


def read_policies(project_dir: Path) -> Policies:
    """Read and check the project's seeds/gold_tables.csv; without it, all is only reported.

    Raises:
        LakehouseError: the file is wrong; the text names all wrong lines.
    """
    path = Path(project_dir, FILE)
    return (
        Policies(tuple(read_seed(path, _header_problem, _checked))) if path.exists() else Policies()
    )


def _header_problem(header: list[str]) -> str | None:
    unknown = [name for name in header if name not in COLUMNS]
    if unknown:
        return f"unknown column {unknown[0]!r}. {use_one_of(unknown[0], COLUMNS)}"
    if "pattern" not in header or len(set(header)) < len(header):
        return f"the header is {','.join(header)}. Name `pattern`, and each column once."
    return None


def _checked(lines: Iterable[Line]) -> list[TablePolicy]:
    found: dict[str, TablePolicy] = {}
    for line in lines:
        said = {name: text for name, text in line.texts.items() if text}
        pattern = said.setdefault("pattern", "")
        if pattern in found:
            line.refuse(f"the pattern {pattern!r} is already above.")
        try:
            texts_of_stars(pattern, SourceTable(None, None, ""))
            split_names(said.get("key", "id"), ",")
        except LakehouseError as error:
            line.refuse(str(error))
        stars = pattern.count("*")
        for place in _PLACE.findall(said.get("name", "")):
            if not 1 <= int(place) <= stars:
                line.refuse(f"the name has {{{place}}}, and the pattern {stars} `*`.")
        for name, words in WORDS.items():
            if name in said and said[name] not in words:
                line.refuse(f"{name} is {said[name]!r}. {use_one_of(said[name], words)}")
        found[pattern] = TablePolicy(**said)
    return list(found.values())
