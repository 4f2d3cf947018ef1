"""What an ALTER TABLE does to its table and columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from udfs._ddl_words import END, Name, Words


class Rename(NamedTuple):
    previous_name: str
    name: str


class Column(NamedTuple):
    table_number: int
    column_name: str
    is_quoted: bool
    is_added: bool


@dataclass(slots=True)
class Statement:
    action: str = "other"
    tables: list[Name] = field(default_factory=list)
    renamed_tables: list[Rename] = field(default_factory=list)
    renamed_columns: list[Rename] = field(default_factory=list)
    altered_columns: list[Column] = field(default_factory=list)

    def alter(self, name: Name | None, is_added: bool) -> None:
        """Note that the statement adds the column `name` to its last table, or drops it."""
        if name is not None:
            number = len(self.tables) - 1
            self.altered_columns.append(Column(number, name.table_name, name.is_quoted, is_added))

    def rename_column(self, names: tuple[Name, Name] | None) -> None:
        if names:
            self.renamed_columns.append(Rename(*(name.table_name for name in names)))
            for name, is_added in zip(names, (False, True), strict=True):
                self.alter(name, is_added)


class AlterReader(Words):
    """Reads an ALTER TABLE behind its first word."""

    def _alter(self, found: Statement) -> None:
        """Add what an ALTER TABLE does to `found`."""
        while self._peek().word in ("ONLINE", "OFFLINE", "IGNORE", "FOREIGN"):
            self._at += 1
        if not self._take("TABLE"):
            return
        self._if_exists()
        self._keyword("ONLY")
        table = self._name()
        if table is None:
            return
        self._take("*")
        if found.tables[-1:] != [table]:
            found.tables.append(table)
        if [self._peek(n).word for n in range(4)] in (
            ["TRUNCATE", "PARTITION", "ALL", ""],
            ["TRUNCATE", "PARTITION", "ALL", ";"],
        ):
            found.action = "truncate_table" if found.action == "other" else found.action
            return
        found.action = "alter_table"
        if self._take("WAIT"):  # MariaDB: WAIT n, NOWAIT
            self._at += 1
        self._take("NOWAIT")
        verb = self._clause(found, None)
        while self._skip_to_next():
            verb = self._clause(found, verb)

    def _skip_to_next(self) -> bool:
        """Move to the next clause of ALTER TABLE, or part of one in brackets; False at the last.

        It comes behind a comma. Db2 writes none, and there the word COLUMN tells it.
        """
        depth = 0
        while (token := self._peek()) is not END:
            if depth == 0 and token.word in (")", ";"):
                return False
            if depth == 0 and token.word in _VERBS and self._peek(1).word == "COLUMN":
                return True
            self._at += 1
            if depth == 0 and token.word == ",":
                return True
            depth += (token.word == "(") - (token.word == ")")
        return False

    def _clause(self, found: Statement, verb: str | None) -> str | None:
        """Add what a clause does; return its verb, which SQL Server does not say again in a list.

        `verb` is that of the clause before.
        """
        if self._take("RENAME"):
            self._rename(found)
            return None
        if self._take("CHANGE"):
            self._take("COLUMN")
            self._if_exists()
            found.rename_column(self._pair(None))
            return None
        if self._take("ADD"):
            return self._add(found)
        if self._take("DROP"):
            return self._drop(found)
        if self._take("SET", "UNUSED"):  # Oracle
            self._take("COLUMN")
            return self._drop_columns(found)
        if verb in ("DROP", "DROP COLUMN") and self._take("COLUMN"):
            return self._drop_columns(found)
        follows = self._peek(1)
        if verb == "DROP COLUMN" and not follows.is_name and follows.word in ("", ",", ";"):
            return self._drop_columns(found)
        if verb == "ADD" and follows.is_name and self._peek().word not in _OTHER_VERBS:
            self._add_column(found)
            return verb
        return verb if verb == "DROP" else None

    def _rename(self, found: Statement) -> None:
        if self._take("COLUMN"):
            self._if_exists()
            found.rename_column(self._pair("TO"))
        elif self._object_comes() and self._peek(1).word != "TO":
            return
        elif self._take("TO") or self._take("AS") or self._take("="):
            self._rename_table(found)
        elif self._peek(1).word == "TO":
            found.rename_column(self._pair("TO"))
        else:
            self._rename_table(found)

    def _rename_table(self, found: Statement) -> None:
        name = self._name()
        if name is not None:
            found.renamed_tables.append(Rename(found.tables[-1].table_name, name.table_name))

    def _pair(self, between: str | None) -> tuple[Name, Name] | None:
        """Return the next two names, with the word `between` them; nothing if they do not come."""
        previous = self._name()
        if previous is None or (between and not self._take(between)):
            return None
        name = self._name()
        return (previous, name) if name else None

    def _add(self, found: Statement) -> str:
        is_column = self._take("COLUMN")
        self._if_exists()
        in_brackets = self._take("(")
        self._add_column(found, is_column)
        while in_brackets and self._skip_to_next():
            self._add_column(found)
        self._take(")")
        return "ADD"

    def _add_column(self, found: Statement, is_column: bool = False) -> None:
        if is_column or not self._object_comes():
            found.alter(self._name(), is_added=True)

    def _drop(self, found: Statement) -> str:
        if self._take("COLUMN"):
            return self._drop_columns(found)
        if not self._object_comes():
            self._drop_columns(found)
        return "DROP"

    def _drop_columns(self, found: Statement) -> str:
        self._if_exists()
        in_brackets = self._take("(")
        found.alter(self._name(), is_added=False)
        while in_brackets and self._take(","):
            found.alter(self._name(), is_added=False)
        self._take(")")
        return "DROP COLUMN"

    def _object_comes(self) -> bool:
        """Whether an index, constraint or partition comes; a column may be called so, too."""
        follows = self._peek(1)
        return self._peek().word in _OBJECTS_OF_TABLES and (
            follows.word == "(" or (follows.is_name and follows.word not in ("CASCADE", "RESTRICT"))
        )


_VERBS = frozenset(("ADD", "DROP", "RENAME"))
_OTHER_VERBS = frozenset(
    ("ALTER", "CONVERT", "DISABLE", "ENABLE", "MODIFY", "ORDER", "OWNER", "SET", "VALIDATE")
)
# fmt: off
# What else ALTER TABLE adds to a table, renames or drops.
_OBJECTS_OF_TABLES = frozenset((
    "CHECK", "COLUMNS", "CONSTRAINT", "DEFAULT", "EXCLUDE", "FOREIGN", "FULLTEXT", "INDEX", "KEY",
    "OVERFLOW", "PARTITION", "PERIOD", "PRIMARY", "SPATIAL", "SUBPARTITION", "SUPPLEMENTAL",
    "SYSTEM", "TABLEGROUP", "UNIQUE", "UNUSED",
))
# fmt: on
