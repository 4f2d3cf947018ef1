"""The past of a table, by its log: the commits that its rows came through, and what it has read.

A commit number proves nothing after a restore, a copy or a rebuild: another commit may have the
same number. So code that notes a number also notes the identifier that Delta gave that commit.
RESTORE takes rows back but keeps the transactions of the commits that it undoes
(delta-io/delta#1813). So only the commits that the rows came through tell how far a table has read.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from cdc_lakehouse.delta.high_water_mark import version_of
from cdc_lakehouse.delta.log import (
    actions_since,
    last_commit,
    last_transactions,
    text_of_commit,
    transaction_version,
)
from cdc_lakehouse.storage.files import Location

# The name in a commit's user metadata for what the table has read of its sources.
READ = "cdc_lakehouse.read"


@dataclass(frozen=True)
class Commit:
    """A commit of a table, as the text of its file in the log."""

    version: int
    text: str

    @cached_property
    def info(self) -> dict[str, Any]:
        """Delta's own description of the commit."""
        return next(self._actions("commitInfo"), {})

    @property
    def identifier(self) -> str | None:
        """The identifier that tells it from every other commit of its number."""
        return self.info.get("txnId")

    @property
    def is_restore(self) -> bool:
        """Whether the commit gave the table the rows of an earlier version."""
        return '"RESTORE"' in self.text and self.info.get("operation") == "RESTORE"

    @property
    def user_metadata(self) -> str | None:
        """The text that its writer gave it."""
        return self.info.get("userMetadata")

    def mark(self, source: str, newest: int) -> "Mark | None":
        """Return what the commit has noted of a source; None if nothing.

        A commit may repeat what an earlier one has noted, before that one leaves the log. The
        repetition counts if no commit in between has noted more.

        Args:
            newest: the greatest number that the log has of the source.
        """
        if source not in self.text:
            return None
        noted, identifier = read_note(self.user_metadata).get(source, (None, None))
        for transaction in self._actions("txn"):
            if transaction["appId"] == source:
                return Mark(transaction["version"], newest, identifier, self.identifier)
        return Mark(newest, newest, identifier) if noted == newest else None

    def _actions(self, kind: str) -> Iterator[dict[str, Any]]:
        """Yield its actions of a kind; those of a large commit are not all read."""
        for line in self.text.split("\n"):
            if line.startswith(f'{{"{kind}"'):
                with suppress(ValueError):  # if it is damaged, Delta says so
                    yield json.loads(line)[kind]


class Unknown(Exception):
    """The log no longer tells what the rows came through before.

    Attributes:
        restored: whether a RESTORE was found until there.
        version: the commit that is not there; None if it is not known which one RESTORE named.
    """

    def __init__(self, restored: bool, version: int | None):
        super().__init__()
        self.restored, self.version = restored, version


def past_of(path: Location) -> Iterator[Commit]:
    """Yield the commits that the rows of a table came through, the latest first.

    After a RESTORE come those of the version that it has restored: what it has undone is left out.

    Raises:
        Unknown: an earlier commit is no longer there, or it is not known what was restored.
    """
    version, restored = last_commit(path), False
    while version is not None and version >= 0:
        try:
            commit = Commit(version, text_of_commit(path, version))
        except (OSError, ValueError):
            raise Unknown(restored, version) from None
        yield commit
        version -= 1
        if commit.is_restore:
            restored = True
            try:
                version = _restored_version(path, commit)
            except (OSError, ValueError, KeyError, TypeError):
                raise Unknown(restored, None) from None


def _restored_version(path: Location, commit: Commit) -> int:
    """Return the version whose rows a RESTORE has taken.

    Raises:
        OSError, ValueError, KeyError, TypeError: it named a moment, and the log no longer tells
            which version that was.
    """
    said = commit.info["operationParameters"]
    if said.get("version") is not None:
        return int(said["version"])
    moment = datetime.fromisoformat(said["timestamp"])
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # as Spark is set
    for version in range(commit.version - 1, -1, -1):
        made_at = Commit(version, text_of_commit(path, version)).info["timestamp"]
        if made_at <= moment.timestamp() * 1000:
            return version
    raise ValueError("no commit is as old as that")


def identifier_of(path: Location, version: int) -> str | None:
    """Return the identifier of a commit; None if the log no longer has it."""
    try:
        return Commit(version, text_of_commit(path, version)).identifier
    except (OSError, ValueError):
        return None


def why_not_of_past(path: Location, version: int, identifier: str | None) -> str | None:
    """Return what was found of a table if its rows did not come through a commit; None if they did.

    If the log no longer tells, the commit is believed.

    Args:
        identifier: that of the commit; None if it is not known.
    """
    last = last_commit(path)
    if last is None or last < version:
        return f"is now at version {-1 if last is None else last}"
    try:
        for commit in past_of(path):
            if commit.version < version:
                return f"was restored to its version {commit.version}"
            if commit.version == version:
                is_other = identifier and commit.identifier not in (None, identifier)
                return f"has another commit {version} than it had then" if is_other else None
    except Unknown as unknown:
        if unknown.version is None:
            return "was restored to a moment of which its log no longer tells"
        if unknown.version < version:
            return f"was restored to its version {unknown.version}"
    return None


def keeps_rows_since(path: Location, version: int, identifier: str | None = None) -> bool:
    """Tell whether no commit after `version` of a table can have removed rows, or put any back.

    DELETE, MERGE, RESTORE and a rebuild can; compaction cannot. If it is not known, the answer is
    no: the table has not come so far, a commit has been removed, or `version` is another commit
    now.

    Args:
        identifier: that of the commit `version`; None if it is not known.
    """
    last = last_commit(path)
    if last is None or last < version:
        return False
    if identifier and identifier_of(path, version) not in (None, identifier):
        return False
    try:
        return not any(map(_takes_or_restores, actions_since(path, version)))
    except (OSError, ValueError):
        return False


def _takes_or_restores(action: dict[str, Any]) -> bool:
    is_restore = action.get("commitInfo", {}).get("operation") == "RESTORE"
    return is_restore or ("remove" in action and action["remove"]["dataChange"])


@dataclass(frozen=True)
class Mark:
    """How far the rows of a table have read a source.

    Attributes:
        number: the transaction number that they came with; -1 if they came with none.
        newest: the greatest that the log has: a later one has to be greater.
        source: the identifier of the source's commit; None if it was not noted.
        noted_in: the identifier of the table's own commit that has noted it, if that is known.
        is_lost: whether the table was restored, and its log no longer tells how far it had read.
    """

    number: int
    newest: int
    source: str | None = None
    noted_in: str | None = None
    is_lost: bool = False

    @property
    def version(self) -> int | None:
        """The version of the source; None if nothing of it was read."""
        return version_of(self.number) if self.number >= 0 else None

    def is_at(self, other: "Mark") -> bool:
        """Whether both marks stand for the same commit, as far as is known."""
        is_other = None not in (self.source, other.source) and self.source != other.source
        return self.version == other.version and not is_other

    @property
    def went_back(self) -> bool:
        """Whether a RESTORE has taken back rows that had read further."""
        return self.number != self.newest


UNREAD = Mark(-1, -1)


def mark_of_rows(path: Location, source: str, newest: int) -> Mark:
    """Return how far the rows of a table have read a source.

    Args:
        source: the name under which it notes that.
        newest: the greatest number that its log has under the name; -1 if it has none.
    """
    if newest < 0:
        return UNREAD
    try:
        for commit in past_of(path):
            if mark := commit.mark(source, newest):
                return mark
    except Unknown as unknown:
        if not unknown.restored:
            return Mark(newest, newest)
        return Mark(-1, newest, is_lost=True)
    return Mark(-1, newest)


def read_mark(spark: SparkSession, path: Location, source: str) -> Mark:
    """Return how far the rows of a table have read a source, noted under a name."""
    return mark_of_rows(path, source, transaction_version(spark, path, source))


Noted = dict[str, tuple[int, str | None]]


def note_of(noted: Mapping[str, tuple[int, str | None]]) -> str:
    """Return the user metadata of a commit: numbers and identifiers of sources' commits by name."""
    return json.dumps({READ: noted})


def read_note(user_metadata: str | None) -> Noted:
    """Return what `note_of` was given, also behind other words; nothing for any other text."""
    try:
        _, begin, rest = (user_metadata or "").partition("{")
        noted = json.loads(begin + rest)[READ]
        return {source: (number, identifier) for source, (number, identifier) in noted.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


def note_again(path: Location) -> str | None:
    """Return the note that the next commit of a table should repeat; None if there is none.

    So it stays known what the table has read when the commit that noted it leaves the log.
    """
    newest = last_transactions(path) or {}
    marks = {source: mark_of_rows(path, source, number) for source, number in newest.items()}
    noted = {s: (m.number, m.source) for s, m in marks.items() if m.source and not m.went_back}
    return note_of(noted) if noted else None
