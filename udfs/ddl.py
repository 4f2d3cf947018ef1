"""What a statement of MySQL, MariaDB, Oracle, PostgreSQL, SQL Server or OceanBase does to tables.

A message does not say which of them wrote its statement, so one tokenizer takes the syntax of all.
It reads any text and never fails: a quote or comment that is not closed ends with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs._arrow import register_arrow
from udfs._ddl_alter import AlterReader, Rename, Statement
from udfs._ddl_words import MOST_CHARACTERS, Name, tokenize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLE = pa.struct(
    {
        "qualifier": pa.string(),
        "table_name": pa.string(),
        "is_qualifier_quoted": pa.bool_(),
        "is_quoted": pa.bool_(),
    }
)
_RENAME = pa.struct({"previous_name": pa.string(), "name": pa.string()})
_COLUMN = pa.struct(
    {
        "table_number": pa.int32(),
        "column_name": pa.string(),
        "is_quoted": pa.bool_(),
        "is_added": pa.bool_(),
    }
)
_STATEMENT = pa.struct(
    {
        "action": pa.string(),
        "tables": pa.list_(_TABLE),
        "renamed_tables": pa.list_(_RENAME),
        "renamed_columns": pa.list_(_RENAME),
        "altered_columns": pa.list_(_COLUMN),
        "names": pa.list_(pa.string()),
    }
)
RETURN_TYPE = (
    "action string, "
    "tables array<struct<qualifier string, table_name string, "
    "is_qualifier_quoted boolean, is_quoted boolean>>, "
    "renamed_tables array<struct<previous_name string, name string>>, "
    "renamed_columns array<struct<previous_name string, name string>>, "
    "altered_columns array<struct<table_number int, column_name string, "
    "is_quoted boolean, is_added boolean>>, names array<string>"
)


def register(spark: SparkSession, _project_dir: Path) -> None:
    """Register `read_ddl(statement string)` in the session `spark`; null for a null or blank one.

    `action` is truncate_table, create_table, replace_table, alter_table, drop_table, rename_table,
    drop_database, index or other; `tables` are those that it creates, alters, drops or empties, as
    they are spelled, and the databases or schemas of drop_database. `altered_columns` are those
    that ALTER TABLE drops or adds to the table of that number, counted from 0; a renamed column is
    dropped by its old name and added by its new one. `names` are all words of the statement in
    lower case, without comments and texts; none if it changes rows.
    """

    def read_all(statements: pa.Array) -> pa.Array:
        return to_arrow([read(statement) for statement in statements.to_pylist()])

    register_arrow(spark, "read_ddl", read_all, RETURN_TYPE)


def to_arrow(rows: Iterable[dict[str, Any] | None]) -> pa.StructArray:
    """Return what `read` gave of statements as a pyarrow StructArray of RETURN_TYPE."""
    return pa.array(rows, _STATEMENT)


# Canal may send the statement that a row comes from with it, and that may be long.
_CHANGES_ROWS = re.compile(r"\s*(?:insert|update|delete|replace|merge)\b", re.IGNORECASE)


def read(statement: str | None) -> dict[str, Any] | None:
    """Return what `statement` does as a dict of RETURN_TYPE, None for a null or blank one."""
    if statement is None or not statement.strip():
        return None
    is_ddl = not _CHANGES_ROWS.match(statement)
    tokens = tokenize(statement[:MOST_CHARACTERS]) if is_ddl else []
    found = _Parser(tokens).statement()
    return {
        "action": found.action,
        "tables": [table._asdict() for table in found.tables],
        "renamed_tables": [rename._asdict() for rename in found.renamed_tables],
        "renamed_columns": [rename._asdict() for rename in found.renamed_columns],
        "altered_columns": [column._asdict() for column in found.altered_columns],
        "names": sorted({token.text.lower() for token in tokens if token.is_name}),
    }


class _Parser(AlterReader):
    def statement(self) -> Statement:
        """Return what the text does: its first statement, and others of the same kind behind it."""
        self._skip_prefixes()
        if self._take("TRUNCATE"):
            tables = self._truncated()
            while self._skip_to(";") and self._take("TRUNCATE"):
                tables += self._truncated()
            return Statement("truncate_table" if tables else "other", tables)
        if self._take("RENAME"):
            return Statement("rename_table", renamed_tables=self._renamed_tables())
        if self._take("ALTER"):
            found = Statement()
            self._alter(found)
            while found.action == "alter_table" and self._skip_to(";") and self._take("ALTER"):
                self._alter(found)
            return found
        for verb in ("CREATE", "DROP"):
            if self._take(verb):
                return Statement(*self._created_or_dropped(verb))
        return Statement()

    def _skip_prefixes(self) -> None:
        """Move behind MariaDB's SET STATEMENT ... FOR, and behind statements of the session."""
        while True:
            if self._take("SET", "STATEMENT"):
                self._skip_to("FOR")
            elif self._peek().word in ("SET", "USE") or self._opens_transaction():
                self._skip_to(";")
            elif not self._take(";"):
                return

    def _opens_transaction(self) -> bool:
        more = 1 if self._peek(1).word in ("WORK", "TRANSACTION") else 0
        return self._peek().word in ("BEGIN", "START") and self._peek(1 + more).word == ";"

    def _truncated(self) -> list[Name]:
        """Return the tables of a TRUNCATE, none if it empties something else or a part of one."""
        if self._keyword("CLUSTER"):
            return []
        self._keyword("TABLE")
        self._if_exists()
        tables: list[Name] = []
        while True:
            self._keyword("ONLY")
            in_brackets = self._take("(")
            name = self._name()
            if name is None:
                return tables
            tables.append(name)
            self._take("*")
            if in_brackets:
                self._take(")")
            if not self._take(","):
                break
        if self._peek().word in ("PARTITION", "SUBPARTITION") or self._take("WITH", "("):
            return []
        return tables

    def _renamed_tables(self) -> list[Rename]:
        if not self._keyword("TABLES"):
            self._keyword("TABLE")
        self._if_exists()
        renames = []
        while (previous := self._name()) is not None:
            if self._peek().word != "TO" and self._skip_to("TO", ",") != "TO":
                break
            self._take("TO")
            name = self._name()
            if name is None:
                break
            renames.append(Rename(previous.table_name, name.table_name))
            if not self._take(","):
                break
        return renames

    def _created_or_dropped(self, verb: str) -> tuple[str, list[Name]]:
        """Return action and tables. What comes before the word TABLE or INDEX are options."""
        options: set[str] = set()
        while (token := self._peek()).is_name:
            self._at += 1
            if token.word == "INDEX":
                return "index", []
            if token.word == "TABLE":
                return self._action_on_tables(verb, options), self._listed(several=verb == "DROP")
            if verb == "DROP" and token.word in ("DATABASE", "SCHEMA"):
                return "drop_database", self._listed(several=True)
            if verb == "DROP" and token.word == "USER":
                # Oracle drops a user's schema with it; in MySQL a user is an account.
                users = self._listed(several=False)
                return ("drop_database", users) if self._take("CASCADE") else ("other", [])
            if token.word in _OTHER_OBJECTS:
                break
            options.add(token.word)
        return "other", []

    def _action_on_tables(self, verb: str, options: set[str]) -> str:
        """A temporary table only hides one of its name, which keeps its rows."""
        is_temporary = bool(options & {"TEMPORARY", "TEMP"})
        if verb == "DROP":
            return "other" if is_temporary else "drop_table"
        return "replace_table" if "REPLACE" in options and not is_temporary else "create_table"

    def _listed(self, several: bool) -> list[Name]:
        """Return the name that comes next, or all names of a list."""
        self._if_exists()
        names = []
        while (name := self._name()) is not None:
            names.append(name)
            if not several or not self._take(","):
                break
        return names


_OTHER_OBJECTS = frozenset(
    ("DATABASE", "SCHEMA", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "SEQUENCE", "USER")
)
