"""The words of a DDL statement, and a reader that goes through them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    is_name: bool
    # The word in upper case; a quoted name is no keyword.
    word: str = ""


# The beginning of a statement says what it does; many megabytes of it must not fill the memory.
MOST_CHARACTERS = 1_000_000
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


def tokenize(statement: str) -> list[Token]:
    """Return names, words and marks of a statement, without blanks, comments and texts."""
    tokens = []
    at, nested = 0, True
    while at < len(statement):
        match = _TOKEN.match(statement, at)
        assert match  # some branch takes each character
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


def _end_of_comment(statement: str, start: int) -> int | None:
    """Return where a comment ends that may hold others, None if the marks do not pair up."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(statement, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


END = Token("", False)


class Name(NamedTuple):
    qualifier: str | None
    table_name: str
    is_qualifier_quoted: bool
    is_quoted: bool


class Words:
    """Goes through the tokens of a statement, from the first to the last."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at = tokens, 0

    def _peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else END

    def _take(self, *words: str) -> bool:
        """Move behind the words if they come next; return whether they did."""
        for ahead, word in enumerate(words):
            if self._peek(ahead).word != word:
                return False
        self._at += len(words)
        return True

    def _skip_to(self, *words: str) -> str | None:
        """Move behind the next of the words, or to the end; return the word."""
        while (token := self._peek()) is not END:
            self._at += 1
            if token.word in words:
                return token.word
        return None

    def _keyword(self, *words: str) -> bool:
        """`_take` for a word that may as well be a table's name, unless a name follows it."""
        token = self._peek(len(words))
        return (
            (token.is_name or token.word in ("(", ".")) and token.word != "." and self._take(*words)
        )

    def _name(self) -> Name | None:
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

    def _if_exists(self) -> bool:
        return self._take("IF", "EXISTS") or self._take("IF", "NOT", "EXISTS")
