"""The state of a gold model in one run, decided once from plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta import statements
from cdc_lakehouse.engine.alterations import clustering
from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.columns import IDENTITY, KNOWN_AT
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_relations import (
    Function,
    Made,
    beside,
    complete_of,
    function_of,
    plain_of,
    storage_of,
)
from cdc_lakehouse.engine.latest_changes import TableChanges
from cdc_lakehouse.engine.rebuilds import DEFINITION, KIND, PARTIAL_KEY_CHANGES, PARTIAL_ROWS
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.typed_values import TypedValues, problems_of_values
from cdc_lakehouse.engine.validated_rows import NULL_FOR_FAILURE, RULES, ValidatedRows
from cdc_lakehouse.package import BUILT_BY, RELEASE


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
        changes: what silver has processed since, by source table; None if that is not known.
        altered: the columns in which the table that is there differs from its definition.
        commit: the identifier of the commit `last` of bronze; None if it is not known.
        is_replaced: whether a table of another materialization is there, which is removed first.
        alterations: the statements that bring the table that is there in line with its model.
        has_complete: whether no model of the project has the name of the view `complete`.
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
    commit: str | None = None
    is_replaced: bool = False
    alterations: tuple[str, ...] = ()
    has_complete: bool = True

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
    def complete(self) -> BaseRelation:
        """The view of the rows of a history at the moment at which all tables are complete."""
        return complete_of(self.view)

    @property
    def validated(self) -> BaseRelation:
        """The view of all rows with what the model's rules say of them: what it shows and holds."""
        return beside(self.view, "judged")  # as stored views are named

    @property
    def held(self) -> BaseRelation:
        """The view of the rows that a rule holds back."""
        return beside(self.view, "held")

    @property
    def accounting(self) -> BaseRelation:
        """The view of how many rows are shown, held and deleted."""
        return beside(self.view, "accounting")

    @property
    def validated_rows(self) -> ValidatedRows:
        """Its rows, as its rules validate them."""
        return ValidatedRows(self.model)

    @property
    def views(self) -> tuple[Made[BaseRelation], ...]:
        """Its views, in the order in which they are made."""
        rows: tuple[Made[BaseRelation], ...] = (Made(self.view, sql.view_of_rows),)
        if self.model.row_rules:
            rows = (
                Made(self.validated, sql.view_of_validated_rows, NULL_FOR_FAILURE),
                Made(self.view, sql.view_of_shown_rows),
                Made(self.held, sql.view_of_held_rows),
                Made(self.accounting, sql.view_of_accounting),
            )
        if self.model.is_history and self.has_complete:
            rows = (*rows, Made(self.complete, sql.view_of_complete_rows, NULL_FOR_FAILURE))
        without_key = Made(self.without_key, sql.view_of_changes_without_key)
        return (*rows, without_key, Made(self.problems, sql.view_of_problems))

    @property
    def properties_of_views(self) -> str:
        """The clause of the view that is made last, that tells by which rules all were made."""
        digest = self.validated_rows.digest
        return statements.settings({RULES: digest}) if digest else ""

    @property
    def unfinished(self) -> str:
        """The clause of that view while the others are still of what the table was before."""
        return statements.settings({RULES: "unfinished"})

    @cached_property
    def key_typing(self) -> TypedValues:
        """Which values of its key fit their types.

        The metastore refuses the text of a view that looks at every column of a wide table.
        """
        return TypedValues(self.model.key.columns, {})

    @property
    def problems_of_key(self) -> str:
        """The problems of these values."""
        return problems_of_values()

    @property
    def functions(self) -> tuple[Made[Function], ...]:
        """Its functions, in the order in which they are made."""
        as_known = Made(self.as_known, sql.as_known_function, NULL_FOR_FAILURE)
        return (Made(self.as_of, sql.as_of_function), as_known) if self.model.is_history else ()

    @property
    def identity(self) -> str:
        """The columns that tell whether a message has the same content as before."""
        return f"struct({', '.join(IDENTITY)})"

    @property
    def as_of(self) -> Function:
        """The function that gives the rows of a history as they were at a moment."""
        return function_of(self.view, "as_of")

    @property
    def as_known(self) -> Function:
        """The same by what was known at another moment."""
        return function_of(self.view, "as_known")

    @property
    def lacks_columns(self) -> bool:
        """Whether its views may name columns that it lacks: of its model, or of a release.

        Columns that only the stored table has do not matter to the views.
        """
        named = {column.name for column in self.model.stored}
        return any(name.startswith("_") or name in named for name in self.altered)

    @property
    def keeps_times(self) -> bool:
        """Whether a history is rebuilt and keeps the times at which its changes were known.

        A table of an older layout may lack these times, or the columns that identify a change.
        """
        is_known = not {KNOWN_AT, *IDENTITY}.intersection(self.altered)
        return self.model.is_history and self.rebuild and is_known

    @property
    def is_up_to_date(self) -> bool:
        """Whether silver has nothing that the table has not read.

        It notes how far it has read only when something is new for it, so that other runs do not
        write it. It may have read more than silver if silver was restored: silver then reads the
        same again.
        """
        if self.last is None:
            return True
        if self.read is None:
            return False
        if self.read >= self.last:
            return True
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
        """The condition on stored rows that a run can change, which file statistics can decide.

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
            BUILT_BY: RELEASE,
            PARTIAL_ROWS: "none",
            PARTIAL_KEY_CHANGES: "none",
            **clustering(self.model.options.values["cluster_by"]),
        }

    @property
    def commit_only(self) -> str:
        """The statement that only notes how far the table has read."""
        return statements.commit_only(str(self.storage))

    @property
    def commit_only_plain(self) -> str:
        """The statement that only notes what the copy for other readers has."""
        return statements.commit_only(str(self.plain))

    @property
    def create(self) -> str:
        """The statement that makes the stored table."""
        # A tombstone and a marker have nulls, and nothing may fail a merge: not_null is a rule.
        columns = [{**column.definition, "constraints": ()} for column in self.model.stored]
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
        properties = {**self._new_properties, **noted}
        cluster_by = self.model.options.values["cluster_by"]
        return statements.replace_table(str(self.storage), columns, rows, properties, cluster_by)
