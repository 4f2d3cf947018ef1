"""Decide from plain values which commits of bronze.messages a run of the change log reads."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdc_lakehouse.delta import statements
from cdc_lakehouse.delta.past import Mark
from cdc_lakehouse.delta.stored_columns import changed_columns, columns_to_add
from cdc_lakehouse.engine.loss import LostRows, refuse_protection, refuse_rebuild
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.package import BUILT_BY, RELEASE
from cdc_lakehouse.protection import FILE, lines_done
from cdc_lakehouse.sql import identifier
from cdc_lakehouse.storage.files import Location

# Delta keeps the least and the greatest value of these columns in each file. They are what readers
# look for; of texts and types, as of an error or a column, it would keep them in vain.
PROPERTIES = {
    "delta.dataSkippingStatsColumns": "topic,partition,offset,format,kind,operation,database_name,"
    "schema_name,table_name,committed_at,ingested_at,sequence,bronze_version,loaded_at"
}

# The property that tells by which lines of seeds/protected_columns.csv the rows are protected.
PROTECTED = "cdc_lakehouse.protected"


@dataclass(frozen=True)
class Build:
    """What a run does to the change log's table before it writes rows.

    `added` are columns that it gets in place; `said` tells a person why it changes. `done` is how
    many lines of protected columns its rows have been protected by; further lines are applied to
    them.
    """

    exists: bool
    rebuild: bool = False
    added: tuple[str, ...] = ()
    said: str | None = None
    done: int | None = None


def decide_build(
    table: str,
    is_asked: bool,
    stored: Mapping[str, Any],
    contract: Mapping[str, Any],
    required: Collection[str],
    lost: LostRows | None,
    protected: tuple[str, str] = ("", ""),
) -> Build:
    """Decide what becomes of a table that is there.

    Args:
        is_asked: whether a person asks to build it again.
        stored, contract: the types of the columns that it has and should have, by name.
        required: the columns that must not be null.
        lost: what it would lose; need not be known where it stays as it is.
        protected: what `Protection.text` gave when its rows were written, and gives now.

    Raises:
        LakehouseError: it would have to be built again, and would lose rows.
    """
    changed = changed_columns(stored, contract)
    if not is_asked and not changed:
        return _protected_otherwise(table, lost, *protected)
    assert lost is not None
    if not is_asked and (added := columns_to_add(stored, contract, required, lost.count > 0)):
        said = (
            f"{table} gets the columns {', '.join(added)}. Bronze no longer holds all of its "
            "messages, so it is not rebuilt: these columns are null in the rows that it has."
        )
        return Build(exists=True, added=tuple(added), said=said)
    refuse_rebuild(table, lost)
    said = f"{table} is rebuilt, its definition has changed: {', '.join(changed)}"
    return Build(exists=True, rebuild=True, said=None if is_asked else said)


def _protected_otherwise(table: str, lost: LostRows | None, stored: str, wanted: str) -> Build:
    """Decide what becomes of a table whose columns are as its contract says."""
    if stored == wanted:
        return Build(exists=True)
    assert lost is not None
    if not lost.count:
        said = f"{table} is rebuilt: other columns are protected than before"
        return Build(exists=True, rebuild=True, said=said)
    done = lines_done(stored, wanted)
    if done is None:
        refuse_protection(table, lost)
        return Build(exists=True, rebuild=True)
    said = (
        f"{table} has the new lines of {FILE} applied to the rows that it has: bronze no longer "
        "holds all of its messages."
    )
    return Build(exists=True, said=said, done=done)


@dataclass(frozen=True)
class Window:
    """The commits of bronze.messages after `read` up to `last`; all of it where `read` is None.

    `table` is the change log, with the `columns` of its contract, in the folder `path`. `formats`
    are those that may have a new message. `reaches_back` tells whether the log still holds all of
    the commits. `protected` is what `Protection.text` gives for silver. `commit` is the identifier
    of the commit `last`.
    """

    table: str
    path: Location
    columns: Sequence[Mapping[str, Any]]
    messages: str
    read: int | None
    last: int
    build: Build
    formats: frozenset[str] = frozenset()
    reaches_back: bool = True
    protected: str = ""
    commit: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no message is new, which takes no query to tell."""
        return self.read is not None and not self.formats

    @property
    def deliveries(self) -> str:
        """The query of the messages that came or were changed, with their commit.

        Without the log the rows themselves tell their commit, but not whether it brought them.
        """
        whole = "select *, _metadata.row_commit_version as bronze_version, {} as is_update from {}"
        messages = f"{self.messages} version as of {self.last}"
        if self.read is None:
            return whole.format("false", messages)
        if not self.reaches_back:
            query = whole.format("true", messages)
            return f"{query} where _metadata.row_commit_version > {self.read}"
        return f"""
            select
                * except (_change_type, _commit_version, _commit_timestamp),
                _commit_version as bronze_version,
                _change_type = 'update_postimage' as is_update
            from table_changes('{self.messages}', {self.read + 1}, {self.last})
            where _change_type in ('insert', 'update_postimage')"""

    @property
    def preparation(self) -> str | None:
        """The statement that makes the table or gives it the columns that it lacks, if any is."""
        if not self.build.exists:
            return statements.create_table(self.table, self.columns, self._properties)
        if self.build.added:
            return statements.add_columns(self.table, self.columns, self.build.added)
        return None

    def typed(self, rows: str) -> str:
        """The query of rows with the columns of the contract, in their order and of their types."""
        columns = (
            f"cast({identifier(column['name'])} as {column['data_type']})"
            f" as {identifier(column['name'])}"
            for column in self.columns
        )
        return f"select {', '.join(columns)} from ({rows})"

    def replace(self, rows: str, properties: Mapping[str, str]) -> str:
        """The statement that builds the table again."""
        return statements.replace_table(
            self.table, self._names, rows, self._properties | dict(properties)
        )

    @property
    def _properties(self) -> dict[str, str]:
        protected = {PROTECTED: self.protected} if self.protected else {}
        return PROPERTIES | {BUILT_BY: RELEASE} | protected

    @property
    def _names(self) -> list[str]:
        return [column["name"] for column in self.columns]


def refuse_restored(table: str, mark: Mark, found: str | None) -> None:
    """Refuse a bronze.messages that is not the one that was read.

    Args:
        mark: how far it was read.
        found: what was found of it, if that is no part of its past.

    Raises:
        LakehouseError: it is not; or it is not known how far it was read.
    """
    remedy = (
        "run `dbt run --full-refresh`, which builds silver and gold from what bronze holds now: "
        "messages that it no longer holds are then in no table."
    )
    if mark.is_lost:
        raise LakehouseError(
            f"{table} was restored to a version of which its log no longer tells how far it had "
            f"read bronze.messages. Restore it to a later version. Or {remedy}"
        )
    if found:
        raise LakehouseError(
            f"{table} has read bronze.messages up to commit {mark.version}, but bronze.messages "
            f"{found}: it was restored, copied back or made again. If you have the newer one, put "
            f"bronze back as it was. If not, {remedy}"
        )
