"""What a run of a gold model works with, decided once from plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta import statements
from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.columns import KNOWN_AT
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.latest_changes import TableChanges
from cdc_lakehouse.engine.plain_table import KIND as PLAIN_TABLE
from cdc_lakehouse.engine.plain_table import SUFFIX
from cdc_lakehouse.sql import identifier

# The properties of a stored table: what decides its content, its materialization, and whether it
# has rows with columns that are older than the row, or moves of such (`none`, marks or `some`).
DEFINITION, KIND = "cdc_lakehouse.definition", "cdc_lakehouse.kind"
PARTIAL_ROWS, PARTIAL_MOVES = "cdc_lakehouse.partial_rows", "cdc_lakehouse.partial_moves"


def why_rebuilt(
    stored: Mapping[str, str | None],
    definition: str,
    changed_columns: Sequence[str],
    resettled: bool,
    is_asked: bool,
) -> str | None:
    """Return why a table that is there is built again; empty if a person asks, None if it is not.

    Args:
        stored: the table's properties.
        definition: the name of what decides its content now.
        changed_columns: the columns in which it differs from its definition.
        resettled: whether changes that it has read were settled otherwise since.
        is_asked: whether a person asks to build it again.
    """
    if is_asked:
        return ""
    if changed_columns:
        return f"its definition has changed: {', '.join(changed_columns)}"
    if stored.get(DEFINITION) != definition:
        return "its SQL, its key or its options have changed"
    if resettled:
        return "messages of its source tables were settled anew"
    if stored.get(PARTIAL_MOVES) is None and stored.get(PARTIAL_ROWS) != "none":
        # It is from before moved rows kept the columns that their change does not carry.
        return "rows whose primary key has changed keep more columns"
    return None


@dataclass(frozen=True)
class Function:
    """A function of SQL that gives the rows of a history at a moment."""

    schema: str
    name: str

    @property
    def identifier(self) -> str:
        """Its name, without that of its schema."""
        return identifier(self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.identifier}"


@dataclass(frozen=True)
class GoldTable:
    """A gold model in a run: the table that is stored for it, and what it has to read.

    Attributes:
        model: what the model says.
        view: the relation that the model is, a view.
        properties: those of the stored table; empty if there is none.
        rebuild: whether the table that is there gets other rows; `said` tells a person why.
        read, last: the versions of bronze of which the table has the changes, and of which silver
            has them; `read` is None for a table that reads everything, `last` where silver has
            read nothing yet, as after a first run with `--empty`.
        is_part: whether the model is given a part of its sources only (`--empty`, `--sample`).
        needs_views: whether the views on the table are missing or read other columns.
        changes: what silver has settled since, by source table; None if that is not known.
        altered: the columns in which the table that is there differs from its definition.
    """

    model: GoldModel
    view: BaseRelation
    properties: Mapping[str, str]
    rebuild: bool
    said: str | None
    read: int | None
    last: int | None
    is_part: bool
    needs_views: bool
    changes: Sequence[TableChanges] | None
    altered: Sequence[str] = ()

    @property
    def exists(self) -> bool:
        """Whether there is a stored table."""
        return bool(self.properties)

    @property
    def storage(self) -> BaseRelation:
        """The stored table."""
        return storage_of(self.view)

    @property
    def plain(self) -> BaseRelation:
        """The copy of the rows that it shows, for readers other than Spark."""
        return plain_of(self.view)

    @property
    def problems(self) -> BaseRelation:
        """The view of what is wrong with its rows; of all its views it is made last."""
        return beside(self.view, "problems")

    @property
    def without_key(self) -> BaseRelation:
        """The view of the changes that cannot be merged, since their key is not known."""
        return beside(self.view, "without_key")

    @property
    def views(self) -> list[str]:
        """The macros of the statements that make its views, in order."""
        rows = "view_of_versions" if self.model.is_history else "view_of_living_rows"
        return [rows, "view_of_changes_without_key", "view_of_problems"]

    @property
    def functions(self) -> dict[str, Function]:
        """The macros of the statements that make its functions, with these."""
        if not self.model.is_history:
            return {}
        return {"as_of_function": self.as_of, "as_known_function": self.as_known}

    @property
    def identity(self) -> str:
        """What tells whether a message says the same as it did."""
        names = "_topic, _partition, _offset, _row_number, _sequence, _fingerprint, _committed_at"
        return f"struct({names})"

    @property
    def as_of(self) -> Function:
        """The function that gives the rows of a history as they were at a moment."""
        return function_of(self.view, "as_of")

    @property
    def as_known(self) -> Function:
        """The same by what was known at another moment."""
        return function_of(self.view, "as_known")

    @property
    def any_changes(self) -> Changes:
        """What the stored changes of a history can be: some of them partial."""
        return Changes(is_partial=True)

    @property
    def add_known_at(self) -> str | None:
        """The statement that gives a history from before it a column that its views read."""
        is_added = self.model.is_history and KNOWN_AT in self.altered
        return (
            f"alter table {self.storage} add columns ({KNOWN_AT} timestamp)" if is_added else None
        )

    @property
    def keeps_times(self) -> bool:
        """Whether the rows are a history's that is built again: it remembers what it knew when."""
        return self.model.is_history and self.rebuild

    @property
    def is_up_to_date(self) -> bool:
        """Whether silver has nothing that the table has not read.

        It notes how far it has read when something is new for it, so that no run writes it before.
        """
        if self.last is None or self.read == self.last:
            return True
        if self.read is None:
            return False
        changes = self.changes
        return changes is not None and not any(
            self.model.reads_table(each.source) for each in changes
        )

    @property
    def everything(self) -> "GoldTable":
        """The same table, if it had read nothing."""
        return replace(self, read=None)

    def is_new(self, version: str) -> str:
        """The condition that a row is of a version of bronze, a column, that this run reads."""
        since = "" if self.read is None else f" and {version} > {self.read}"
        return f"{version} <= {self.last}{since}"

    def rows_can_be(self, found: Changes) -> str:
        """Where in the stored table a run's changes can have rows, by the statistics of its files.

        Tombstones that a run forgets may be anywhere.
        """
        if self.model.options.retention:
            return "true"
        markers = " or stored._truncated_table is not null" if found.truncates else ""
        return f"({found.keys}{markers})"

    def touched_keys_can_be(self, found: Changes | None) -> str:
        """Where the keys that a run has merged can be; tombstones that it forgets anywhere.

        Args:
            found: None stands for all keys.
        """
        return "true" if found is None or self.model.options.retention else f"({found.keys})"

    def is_touched(self, found: Changes) -> str:
        """Whether a run can change the version of a stored change: all of the keys that it touches.

        A TRUNCATE touches every key, and is needed itself to tell where the versions of others end.
        """
        if found.truncates:
            return "true"
        has_key = self.model.key.is_that_of("new_changes")
        is_of_key = f"exists (select 1 from new_changes where {has_key})"
        is_marker = "stored._truncated_table is not null"
        return f"({found.keys} or {is_marker}) and ({is_marker} or {is_of_key})"

    @property
    def _new_properties(self) -> dict[str, str]:
        return {
            "delta.enableDeletionVectors": "true",
            DEFINITION: self.model.definition,
            KIND: self.model.kind,
            PARTIAL_ROWS: "none",
            PARTIAL_MOVES: "none",
        }

    @property
    def commit_only(self) -> str:
        """The statement that only notes how far the table has read."""
        return statements.commit_only(str(self.storage))

    @property
    def commit_only_plain(self) -> str:
        """The statement that only notes what the copy for other readers has."""
        return statements.commit_only(str(self.plain))

    def replace_plain(self, further: Mapping[str, str]) -> str:
        """The statement that writes the copy whole.

        Deletion vectors, clustering and the like are features that a reader may not have.

        Args:
            further: properties of the copy, as those of a change feed.
        """
        properties = {"delta.enableDeletionVectors": "false", KIND: PLAIN_TABLE, **further}
        return (
            f"create or replace table {self.plain}\nusing delta\n"
            f"{statements.settings(properties)}\nas select * from {self.view}"
        )

    @property
    def create(self) -> str:
        """The statement that makes the stored table."""
        columns = [column.definition for column in self.model.stored]
        cluster_by = self.model.options.values["cluster_by"]
        return statements.create_table(str(self.storage), columns, self._new_properties, cluster_by)

    def write(self, rows: str, noted: Mapping[str, str]) -> str:
        """The statement that writes the rows of a table that is new or built again.

        Args:
            noted: properties that tell what kinds of rows these are.
        """
        columns = [column.name for column in self.model.stored]
        if not self.rebuild:
            return statements.insert_rows(str(self.storage), columns, rows)
        properties = self._new_properties | noted
        cluster_by = self.model.options.values["cluster_by"]
        return statements.replace_table(str(self.storage), columns, rows, properties, cluster_by)


def storage_of(view: BaseRelation) -> BaseRelation:
    """The table that is stored for a gold model: of the same name, in a schema beside."""
    return view.incorporate(path={"schema": f"{view.schema}_storage"}, type="table")


def plain_of(view: BaseRelation) -> BaseRelation:
    """The copy of the rows of a gold model that every Delta reader takes."""
    path = {"schema": view.schema + SUFFIX, "identifier": view.identifier}
    return view.create(**path, type="table")


def function_of(view: BaseRelation, suffix: str) -> Function:
    """A function of a history, which has the name of its table."""
    return Function(view.schema, f"{view.identifier.removesuffix('_history')}_{suffix}")


def beside(view: BaseRelation, suffix: str) -> BaseRelation:
    """A view beside the table that is stored for a gold model."""
    path = {"identifier": f"{view.identifier}_{suffix}"}
    return storage_of(view).incorporate(path=path, type="view")
