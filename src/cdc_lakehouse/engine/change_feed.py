"""The change feed of a gold table: what its plain table keeps for it, and what a consumer reads.

It is Delta's change data feed of gold_plain.<name>. A run writes only rows that differ there, so a
rebuild or a duplicate is no change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cdc_lakehouse.delta.feed import FEED
from cdc_lakehouse.engine.columns import CHANGE_COLUMNS, Column, names
from cdc_lakehouse.engine.complete_until import Moment
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.validated_rows import IS_DELETED, ValidatedRows, shown_columns
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import quoted

# The properties of a plain table that has a feed, beside the feed's name: Delta's own, and the
# columns that tell its rows apart.
ENABLED, IDENTITY = "delta.enableChangeDataFeed", "cdc_lakehouse.feed_identity"
# The columns that tell versions of a row apart: the message of each.
PLACE = ("_topic", "_partition", "_offset", "_row_number")
ORDER = ("_sequence", "_partition", "_offset", "_row_number")


@dataclass(frozen=True)
class FeedRows:
    """The rows of a gold model as its change feed tells them apart and compares them."""

    model: GoldModel

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the model shows, in its order."""
        return shown_columns(self.model)

    @property
    def definitions(self) -> list[Mapping[str, Any]]:
        """The columns as dbt has them of the YAML, without constraints: those are rules."""
        return [
            {"name": c.name, "data_type": c.data_type, **c.definition, "constraints": []}
            for c in self.columns
        ]

    @property
    def all_names(self) -> str:
        """The names of the columns."""
        return names(self.columns)

    @property
    def _identity(self) -> tuple[Column, ...]:
        place = PLACE if self.model.is_history else ()
        by_name = {column.name: column for column in self.columns}
        return (*self.model.key.ordered, *(by_name[name] for name in place))

    @property
    def identity(self) -> str:
        """The columns that identify a row of the table, as one value."""
        return f"struct({names(self._identity)})"

    @property
    def identity_names(self) -> str:
        """The names of the columns that identify a row."""
        return names(self._identity)

    def is_that_of(self, row: str) -> str:
        """Whether a stored row is the same as another row, maybe with other content."""
        return " and ".join(f"stored.{c.sql} <=> {row}.{c.sql}" for c in self._identity)

    @property
    def content(self) -> str:
        """All that a row holds, as one value that SQL can compare."""
        return f"struct({', '.join(column.comparable() for column in self.columns)})"

    @property
    def paired_by(self) -> str:
        """The columns by which a row before a commit and one after it are one row.

        A version of a history is the one of its key and its beginning: the message that it shows
        is the last of several that say the same.
        """
        return names(self.model.key.ordered) + (", valid_from" if self.model.is_history else "")

    @property
    def order(self) -> str:
        """The order of versions that begin at the same time."""
        return ", ".join(ORDER)

    def values(self, row: str) -> str:
        """The columns of a row, except those about its message, as one value."""
        compared = [c for c in self.columns if c.name not in CHANGE_COLUMNS and c != IS_DELETED]
        said = [column.comparable(row) for column in compared]
        if IS_DELETED in self.columns:
            # The column is null in changes from before it was there.
            said.append(f"coalesce({row}{IS_DELETED.sql}, false)")
        return f"struct({', '.join(said)})"

    def properties(self, name: str) -> dict[str, str]:
        """The properties of a plain table that begins a feed of this name."""
        return {ENABLED: "true", FEED: name, IDENTITY: self.identity_names}


def has_feed(properties: Mapping[str, str]) -> bool:
    """Tell whether a table keeps a feed, by its properties."""
    return properties.get(ENABLED) == "true" and FEED in properties


def columns_lacking(stored: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str] | None:
    """Return the columns that a table lacks of what a model shows, by the types of both.

    Returns:
        None if they differ in another way: columns are gone or have another type.
    """
    if any(shown.get(name) != data_type for name, data_type in stored.items()):
        return None
    return [name for name in shown if name not in stored]


@dataclass(frozen=True)
class Position:
    """How far a consumer has read: up to a commit of a feed.

    Attributes:
        commit: the last that it has read.
        feed: the name of the feed; None if it has not kept that.
        known: the latest commit of the table then, and its identifier; None if it has not kept it.
    """

    commit: int
    feed: str | None = None
    known: tuple[int, str] | None = None

    @classmethod
    def kept(cls, commit: int, text: str | None) -> "Position":
        """Return the position of a commit and of what `FeedReading.text` gave with it."""
        match (text or "").split(" "):
            case [feed, last, identifier] if last.isdecimal():
                return cls(commit, feed, (int(last), identifier))
        return cls(commit, text)


@dataclass(frozen=True)
class FeedReading:
    """What a consumer reads of a feed in one run.

    Attributes:
        rows: the rows of the gold model.
        table: the table that keeps the feed; of `nothing` any with its columns.
        feed: the name of the feed.
        kind: `snapshot` if it reads all rows as they are after commit `last`, `changes` if those of
            the commits from `first` to `last`, `nothing` if there are none.
        committed_at: the time of the last commit, in milliseconds since 1970.
        identifier: that of the last commit; None if it is not known.
    """

    rows: FeedRows
    table: str
    feed: str
    kind: Literal["snapshot", "changes", "nothing"]
    first: int = 0
    last: int = -1
    committed_at: int = 0
    identifier: str | None = None

    @property
    def changes(self) -> str:
        """The rows that the commits have changed, as Delta tells them."""
        return f"table_changes({quoted(self.table)}, {self.first}, {self.last})"

    @property
    def rows_as_they_are(self) -> str:
        """The table as of its last commit; a later commit does not alter that."""
        return self.table if self.kind == "nothing" else f"{self.table} version as of {self.last}"

    @property
    def feed_name(self) -> str:
        """The text that a consumer keeps beside the commit, as a literal of SQL."""
        return quoted(self.text)

    @property
    def text(self) -> str:
        """The name of the feed, with its last commit as that is known."""
        return f"{self.feed} {self.last} {self.identifier}" if self.identifier else self.feed


@dataclass(frozen=True)
class MomentReading:
    """What a consumer reads of a history between two moments.

    Attributes:
        rows: the rows of the gold model.
        storage: the table that is stored for it.
        since, until: the moments.
    """

    rows: FeedRows
    storage: str
    since: Moment
    until: Moment

    @property
    def model(self) -> GoldModel:
        """The gold model."""
        return self.rows.model

    @property
    def validated_rows(self) -> ValidatedRows:
        """Its rows, as its rules validate them."""
        return ValidatedRows(self.model)


def refuse_without_history(model: GoldModel, consumer: str) -> None:
    """Refuse to read a gold model between two moments that keeps no earlier rows.

    Raises:
        LakehouseError: it is no history.
    """
    if not model.is_history:
        raise LakehouseError(
            f"{consumer} reads {model.name} until a moment, which a history alone can tell. Read "
            f"the history of the table: lakehouse add-table --history writes one."
        )


def refuse_without_option(model: GoldModel, consumer: str) -> None:
    """Refuse to read changes of a gold model that keeps no feed.

    Raises:
        LakehouseError: its option change_feed is off.
    """
    if not model.options.change_feed:
        raise LakehouseError(
            f"{consumer} reads the changes of {model.name}, which keeps no change feed. "
            f"Set change_feed=true in config() of {model.name}."
        )


def kind_of_reading(
    since: Position | None, properties: Mapping[str, str], last: int, table: str, consumer: str
) -> Literal["snapshot", "changes", "nothing"]:
    """Return what a consumer reads of a feed that has come to the commit `last`.

    Args:
        since: how far it has read; None if it begins.
        properties: those of the table.
        table, consumer: their names, for a person.

    Raises:
        LakehouseError: the table has no feed yet, or another than the one that was read.
    """
    if not has_feed(properties):
        model = table.partition(".")[2]
        raise LakehouseError(
            f"{table} keeps no change feed yet. Run the model that keeps it: `dbt run -s {model}`."
        )
    if since is None:
        return "snapshot"
    if since.commit > last or since.feed not in (None, properties[FEED]):
        why = f"its feed has begun again since {consumer} has read commit {since.commit}"
        raise CannotGoOn(consumer, table, why)
    return "nothing" if since.commit == last else "changes"


class CannotGoOn(LakehouseError):
    """A consumer has to begin with a snapshot again: `why`, as the end of a sentence."""

    def __init__(self, consumer: str, table: str, why: str) -> None:
        super().__init__(
            f"{consumer} cannot go on reading the change feed of {table}: {why}. "
            f"Run `dbt run --full-refresh -s {consumer}`, which begins with all rows as they are."
        )
        self.why = f"it cannot go on reading the change feed of {table}: {why}"
