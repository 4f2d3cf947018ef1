"""seeds/protected_columns.csv: which source columns are hashed, masked or dropped, and where.

The key of the hash is in the environment alone. Statements, views and tables contain the lines of
the file and a number of the key, from which nobody can tell the key.
"""

import hmac
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import md5, sha256
from pathlib import Path

from cdc_lakehouse import seeds
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import pattern_of
from cdc_lakehouse.sql import quoted

FILE = Path("seeds", "protected_columns.csv")
KEY = "LAKEHOUSE_HASH_KEY"
SHORTEST_KEY = 32
COLUMNS = ("database", "schema", "table", "column", "method", "layer")
METHODS = ("hash", "mask", "drop")
LAYERS = ("silver", "gold")


@dataclass(frozen=True)
class Line:
    """A line of the file; each name may be a glob. An empty schema is any, or none."""

    number: int
    database: str
    schema: str
    table: str
    column: str
    method: str
    layer: str

    @property
    def patterns(self) -> list[str]:
        """Regular expressions, for Python and for Java, of database, schema, table and column.

        They take upper and lower case for the same: the source may write a name in either.
        """
        names = (self.database, self.schema or "*", self.table, self.column)
        return [pattern_of(name).replace("(?s)", "(?ius)", 1) for name in names]

    @property
    def rule(self) -> list[str]:
        """What protects rows, as `protected_images` of udfs/ takes it."""
        return [*self.patterns, self.method, self.layer]

    @property
    def covers(self) -> str:
        """The condition that a row of silver is of a table that the line names."""
        database, schema, table, _ = map(quoted, self.patterns)
        return (
            f"(database_name rlike {database} and coalesce(schema_name, '') rlike {schema}"
            f" and table_name rlike {table})"
        )

    def is_of_table(self, database: str, schema: str | None, table: str) -> bool:
        """Tell whether the line is of a table; without a schema, of one in some schema."""
        names = (database, schema, table)
        pairs = zip(self.patterns, names, strict=False)
        return all(name is None or re.search(pattern, name) for pattern, name in pairs)

    def is_of_column(self, name: str) -> bool:
        """Tell whether the line names a column of its tables."""
        return re.search(self.patterns[-1], name) is not None

    def __str__(self) -> str:
        names = [name for name in (self.database, self.schema, self.table, self.column) if name]
        return f"{FILE}, line {self.number}: {self.method} {'.'.join(names)}"


@dataclass(frozen=True)
class Protection:
    """The lines of the file, of which the first that covers a column counts; it may have none.

    `key_number` stands for the key of the hash; it is empty where nobody asks for it.
    """

    lines: tuple[Line, ...] = ()
    key_number: str = ""

    def of(self, layer: str, done: int = 0) -> list[Line]:
        """Return the lines of a layer, without those among the first lines that are done."""
        return [line for line in self.lines[done:] if line.layer == layer]

    def covers(self, layer: str, done: int = 0) -> str:
        """Return the condition that a row of silver is of a table with a protected column."""
        return " or ".join(dict.fromkeys(line.covers for line in self.of(layer, done)))

    def rules(self, done: int = 0) -> str:
        """Return all lines, for `protected_images` of udfs/; the first may be done already."""
        lines = enumerate(self.lines)
        return json.dumps([replace(x, layer="done").rule if i < done else x.rule for i, x in lines])

    def text(self, layers: Iterable[str] = LAYERS) -> str:
        """Return what stands for what happens in some layers; empty if nothing does.

        A line of another layer counts if it stands above: it may take a column from one below.
        """
        last = max((i for i, line in enumerate(self.lines) if line.layer in layers), default=None)
        if last is None:
            return ""
        return json.dumps([self.key_number, *(line.rule for line in self.lines[: last + 1])])

    @property
    def digest(self) -> str:
        """A name for all lines and the key, to find in the text of a view."""
        return md5(self.text().encode()).hexdigest()


def lines_done(stored: str, wanted: str) -> int | None:
    """Return how many lines rows have been protected by, if only the lines below them are new.

    Args:
        stored, wanted: what `Protection.text` gave when the rows were written, and gives now.

    Returns:
        None if other lines or another key have changed: then the clear values are needed.
    """
    if not stored:
        return 0
    before, now = json.loads(stored), json.loads(wanted or "[]")
    return len(before) - 1 if now[: len(before)] == before else None


def key_number(key: str) -> str:
    """Return a number for a key, to see that it is the same; as `number_of_key` of udfs/ does."""
    return hmac.digest(key.encode(), b"cdc_lakehouse: number of the key", sha256).hex()[:16]


def read_protection(
    project_dir: Path, environment: Mapping[str, str] = os.environ, needs_key: bool = True
) -> Protection:
    """Read and check the project's seeds/protected_columns.csv; without it, nothing is protected.

    Args:
        needs_key: whether values are hashed; to look at SQL, none are.

    Raises:
        LakehouseError: the file is wrong, then the text names all wrong lines; or there is no good
            key.
    """
    path = Path(project_dir, FILE)
    if not path.exists():
        return Protection()
    lines = seeds.read_seed(path, _header_problem, _checked)
    key = environment.get(KEY, "")
    if lines and needs_key and len(key) < SHORTEST_KEY:
        found = f"has {len(key)} characters" if key else "is not set"
        raise LakehouseError(
            f"{path} protects columns, and {KEY}, the key of the hash, {found}. Set it to a random "
            f"text of {SHORTEST_KEY} characters or more, the same in every run; for example "
            "`openssl rand -hex 32` makes one. A column of a key is hashed whatever its line says."
        )
    return Protection(tuple(lines), key_number(key) if key else "")


def _header_problem(header: list[str]) -> str | None:
    if sorted(header) == sorted(COLUMNS):
        return None
    return (
        f"the header is {','.join(header) or 'empty'}. "
        f"It must name these columns: {','.join(COLUMNS)}."
    )


def _checked(found: Iterable[seeds.Line]) -> list[Line]:
    lines: list[Line] = []
    for read in found:
        line = Line(read.number, **read.texts)
        for name in ("database", "table", "column"):
            if not getattr(line, name):
                read.refuse(f"the {name} is empty. Name it, or write * for any.")
        for name, known in (("method", METHODS), ("layer", LAYERS)):
            if getattr(line, name) not in known:
                said = seeds.use_one_of(getattr(line, name), known)
                read.refuse(f"unknown {name} {getattr(line, name)!r}. {said}")
        twice = next((each for each in lines if each.patterns == line.patterns), None)
        if twice:
            read.refuse(f"the same columns are in line {twice.number}. Delete one line.")
        lines.append(line)
    return lines
