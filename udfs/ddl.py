"""What a statement of MySQL, MariaDB, Oracle, PostgreSQL, SQL Server or OceanBase does to tables.

A message does not say which of them wrote its statement, so one tokenizer takes the syntax of all.
It reads any text and never fails: a quote or comment that is not closed ends with the text.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

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


def register(spark, _project_dir):
    """Register `read_ddl(statement string)` in the session `spark`; null for a null or blank one.

    `action` is truncate_table, create_table, replace_table, alter_table, drop_table, rename_table,
    drop_database, index or other; `tables` are those that it creates, alters, drops or empties, as
    they are spelled, and the databases or schemas of drop_database. `altered_columns` are those
    that ALTER TABLE drops or adds to the table of that number, counted from 0; a renamed column is
    dropped by its old name and added by its new one. `names` are all words of the statement in
    lower case, without comments and texts; none if it changes rows.
    """
    from pyspark.sql.functions import arrow_udf

    def read_all(statements: pa.Array) -> pa.Array:
        return to_arrow([read(statement) for statement in statements.to_pylist()])

    spark.udf.register("read_ddl", arrow_udf(read_all, RETURN_TYPE))


def to_arrow(rows):
    """Return what `read` gave of statements as a pyarrow StructArray of RETURN_TYPE."""
    return pa.array(rows, _STATEMENT)


# Canal may send the statement that a row comes from with it, and that may be long.
_CHANGES_ROWS = re.compile(r"\s*(?:insert|update|delete|replace|merge)\b", re.IGNORECASE)


def read(statement):
    """Return what `statement` does as a dict of RETURN_TYPE, None for a null or blank one."""
    if statement is None or not statement.strip():
        return None
    is_ddl = not _CHANGES_ROWS.match(statement)
    tokens = tokenize(statement[:_MOST_CHARACTERS]) if is_ddl else []
    found = _Parser(tokens).statement()
    return {
        "action": found.action,
        "tables": [table._asdict() for table in found.tables],
        "renamed_tables": [rename._asdict() for rename in found.renamed_tables],
        "renamed_columns": [rename._asdict() for rename in found.renamed_columns],
        "altered_columns": [column._asdict() for column in found.altered_columns],
        "names": sorted({token.text.lower() for token in tokens if token.is_name}),
    }


# ---------------------------------------------------------------------------- tokens


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    is_name: bool
    # The word in upper case; a quoted name is no keyword.
    word: str = ""


# What a statement does stands at its beginning; one of many megabytes must not fill the memory.
_MOST_CHARACTERS = 1_000_000
# MySQL runs what is inside /*! */, MariaDB also /*M! */; no release has a number from 990000 on.
_TOKEN = re.compile(
    r"""
    \s+
    | /\*M?!(?!99[0-9]{4})[0-9]*
    | (?P<comment>/\*)
    | --[^\n]*
    | \#[^\n]*
    | '(?:[^'\\]|\\.|'')*+(?:'|\\?\Z)
    | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)
    | `(?P<backticks>(?:[^`]|``)*+)(?:`|\Z)
    | "(?P<quotes>(?:[^"]|"")*+)(?:"|\Z)
    | \[(?P<brackets>[^\W\d][^\]]{0,127})\]
    | (?P<word>[\w$@][\w$#@]*)
    | \*/
    | (?P<mark>.)
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")


def tokenize(statement):
    """Return names, words and marks of a statement, without blanks, comments and texts."""
    tokens = []
    at, nested = 0, True
    while at < len(statement):
        match = _TOKEN.match(statement, at)
        at = match.end()
        kind = match.lastgroup
        if kind == "comment":
            # PostgreSQL nests comments, the others do not: there the marks do not pair up.
            end = _end_of_comment(statement, match.start()) if nested else None
            nested = end is not None
            at = end or statement.find("*/", at) + 2
            if at < match.end():  # find found nothing
                break
        elif kind == "word":
            tokens.append(Token(match[0], True, match[0].upper()))
        elif kind == "mark":
            tokens.append(Token(match[0], False, match[0]))
        elif kind == "backticks":
            tokens.append(Token(match[kind].replace("``", "`"), True))
        elif kind == "quotes":
            tokens.append(Token(match[kind].replace('""', '"'), True))
        elif kind == "brackets":
            tokens.append(Token(match[kind], True))
    return tokens


def _end_of_comment(statement, start):
    """Return where a comment ends that may hold others, None if the marks do not pair up."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(statement, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


# ---------------------------------------------------------------------------- statements

_END = Token("", False)


class Name(NamedTuple):
    qualifier: str | None
    table_name: str
    is_qualifier_quoted: bool
    is_quoted: bool


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

    def alter(self, name, is_added):
        """Note that the statement adds the column `name` to its last table, or drops it."""
        if name is not None:
            number = len(self.tables) - 1
            self.altered_columns.append(Column(number, name.table_name, name.is_quoted, is_added))

    def rename_column(self, names):
        if names:
            self.renamed_columns.append(Rename(*(name.table_name for name in names)))
            for name, is_added in zip(names, (False, True), strict=True):
                self.alter(name, is_added)


class _Parser:
    def __init__(self, tokens):
        self._tokens, self._at = tokens, 0

    def _peek(self, ahead=0):
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else _END

    def _take(self, *words):
        """Move behind the words if they come next; return whether they did."""
        for ahead, word in enumerate(words):
            if self._peek(ahead).word != word:
                return False
        self._at += len(words)
        return True

    def _skip_to(self, *words):
        """Move behind the next of the words, or to the end; return the word."""
        while (token := self._peek()) is not _END:
            self._at += 1
            if token.word in words:
                return token.word
        return None

    def _keyword(self, *words):
        """`_take` for a word that may as well be a table's name, unless a name follows it."""
        token = self._peek(len(words))
        return (
            (token.is_name or token.word in ("(", ".")) and token.word != "." and self._take(*words)
        )

    def _name(self):
        """Take `[[a.]b.]c` and return the Name `b.c`; None if no name comes."""
        parts = []
        self._take(".")  # MySQL allows `.t` for a table of the current database
        while self._peek().is_name:
            parts.append(self._peek())
            self._at += 1
            if not self._take("."):
                break
        if not parts:
            return None
        if len(parts) == 1:
            return Name(None, parts[0].text, False, not parts[0].word)
        qualifier, table = parts[-2:]
        return Name(qualifier.text, table.text, not qualifier.word, not table.word)

    def statement(self):
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

    def _skip_prefixes(self):
        """Move behind MariaDB's SET STATEMENT ... FOR, and behind statements of the session."""
        while True:
            if self._take("SET", "STATEMENT"):
                self._skip_to("FOR")
            elif self._peek().word in ("SET", "USE") or self._opens_transaction():
                self._skip_to(";")
            elif not self._take(";"):
                return

    def _opens_transaction(self):
        more = 1 if self._peek(1).word in ("WORK", "TRANSACTION") else 0
        return self._peek().word in ("BEGIN", "START") and self._peek(1 + more).word == ";"

    def _if_exists(self):
        return self._take("IF", "EXISTS") or self._take("IF", "NOT", "EXISTS")

    def _truncated(self):
        """Return the tables of a TRUNCATE, none if it empties something else or a part of one."""
        if self._keyword("CLUSTER"):
            return []
        self._keyword("TABLE")
        self._if_exists()
        tables = []
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

    def _renamed_tables(self):
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

    def _alter(self, found):
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

    def _skip_to_next(self):
        """Move to the next clause of ALTER TABLE, or part of one in brackets; False at the last.

        It comes behind a comma. Db2 writes none, and there the word COLUMN tells it.
        """
        depth = 0
        while (token := self._peek()) is not _END:
            if depth == 0 and token.word in (")", ";"):
                return False
            if depth == 0 and token.word in _VERBS and self._peek(1).word == "COLUMN":
                return True
            self._at += 1
            if depth == 0 and token.word == ",":
                return True
            depth += (token.word == "(") - (token.word == ")")
        return False

    def _clause(self, found, verb):
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

    def _rename(self, found):
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

    def _rename_table(self, found):
        name = self._name()
        if name is not None:
            found.renamed_tables.append(Rename(found.tables[-1].table_name, name.table_name))

    def _pair(self, between):
        """Return the next two names, with the word `between` them; nothing if they do not come."""
        previous = self._name()
        if previous is None or (between and not self._take(between)):
            return ()
        name = self._name()
        return (previous, name) if name else ()

    def _add(self, found):
        is_column = self._take("COLUMN")
        self._if_exists()
        in_brackets = self._take("(")
        self._add_column(found, is_column)
        while in_brackets and self._skip_to_next():
            self._add_column(found)
        self._take(")")
        return "ADD"

    def _add_column(self, found, is_column=False):
        if is_column or not self._object_comes():
            found.alter(self._name(), is_added=True)

    def _drop(self, found):
        if self._take("COLUMN"):
            return self._drop_columns(found)
        if not self._object_comes():
            self._drop_columns(found)
        return "DROP"

    def _drop_columns(self, found):
        self._if_exists()
        in_brackets = self._take("(")
        found.alter(self._name(), is_added=False)
        while in_brackets and self._take(","):
            found.alter(self._name(), is_added=False)
        self._take(")")
        return "DROP COLUMN"

    def _object_comes(self):
        """Whether an index, constraint or partition comes; a column may be called so, too."""
        follows = self._peek(1)
        return self._peek().word in _OBJECTS_OF_TABLES and (
            follows.word == "(" or (follows.is_name and follows.word not in ("CASCADE", "RESTRICT"))
        )

    def _created_or_dropped(self, verb):
        """Return action and tables. What comes before the word TABLE or INDEX are options."""
        options = set()
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

    def _action_on_tables(self, verb, options):
        """A temporary table only hides one of its name, which keeps its rows."""
        is_temporary = bool(options & {"TEMPORARY", "TEMP"})
        if verb == "DROP":
            return "other" if is_temporary else "drop_table"
        return "replace_table" if "REPLACE" in options and not is_temporary else "create_table"

    def _listed(self, several):
        """Return the name that comes next, or all names of a list."""
        self._if_exists()
        names = []
        while (name := self._name()) is not None:
            names.append(name)
            if not several or not self._take(","):
                break
        return names


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
_OTHER_OBJECTS = frozenset(
    ("DATABASE", "SCHEMA", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "SEQUENCE", "USER")
)
