"""The steps of a run of a gold table. `engine/sql` has the statements."""

from dataclasses import replace

from cdc_lakehouse.delta.statements import comments_of
from cdc_lakehouse.engine.changes import FEW, Changes, NewChanges, count_changes
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.key_changes_run import NEW_CHANGES, KeyChangesRun, note
from cdc_lakehouse.engine.latest_changes import counts_of, query_of_latest
from cdc_lakehouse.engine.plain_run import PlainRun
from cdc_lakehouse.engine.rebuilds import PARTIAL_ROWS
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.shards import refuse_shared_keys
from cdc_lakehouse.engine.steps import (
    NOT_WRITTEN,
    NOTHING_NEW,
    Ask,
    CheckContract,
    Commit,
    Execute,
    Expect,
    Finish,
    IsKnown,
    Name,
    Plan,
    Remove,
    Say,
    Stage,
)

# Following rows needs every DROP, also where `on_drop` keeps the rows.
EVERY_DROP = "true"


class GoldRun:
    """A run of a gold table.

    It makes these temporary views: `new_changes`, the changes in silver since its last run, typed,
    and staged if the run merges; `touched_changes`, all changes of their keys, for a history;
    `changed_rows`, what a MERGE writes; `rebuilt_rows`, those of a table that is rebuilt; and the
    views of `KeyChangesRun`.
    """

    def __init__(self, table: GoldTable):
        self.table = table

    def steps(self) -> Plan[None]:
        """Make what is missing, write what is new, and keep the copy for other readers."""
        table = self.table
        if not (table.is_part and table.is_replaced):  # what is there stays, and is not written
            yield from self._prepare()
        found = yield from self._write()
        if not table.is_part and table.last is not None:
            yield from PlainRun(table, found).steps()

    def _write(self) -> Plan[Changes | None]:
        """Write what is new for the table.

        Returns:
            What the run has merged; None if it has built the table, or had nothing to merge.
        """
        table = self.table
        if table.is_part and (table.read is None or table.read != table.last):
            yield self._check_contract()
            yield Finish(NOT_WRITTEN)
        elif table.is_up_to_date:
            yield Finish(NOTHING_NEW)
        elif table.read is None:
            yield from self._build()
            if self._views_wait:
                yield from self._make_views()
            if self._functions_wait:
                yield from self._make_functions()
        else:
            return (yield from self._merge())
        return None

    def _prepare(self) -> Plan[None]:
        table = self.table
        if table.said:
            yield Say(table.said)
        if table.is_replaced:
            yield Remove(table.storage)
        if not table.exists:
            yield Execute(f"create schema if not exists {table.storage.schema}")
            yield Execute(table.create)
        for statement in table.alterations:
            yield Execute(statement)
        if not table.needs_views:
            return
        if not self._views_wait:
            yield from self._make_views()
        elif (yield IsKnown(table.problems)):
            # A run that is killed before it makes them leaves it to the next.
            yield Execute(f"alter view {table.problems} set {table.unfinished}")
        if not self._functions_wait:
            yield from self._make_functions()
            return
        # They name the columns that the table gets; a run that is killed leaves none that are old.
        for function in table.functions:
            yield Execute(f"drop function if exists {function.relation}")

    @property
    def _views_wait(self) -> bool:
        """Whether the views name columns that the table has only once it is built again."""
        table = self.table
        is_validated = table.rebuild and bool(table.model.row_rules)
        return table.needs_views and (is_validated or table.lacks_columns)

    @property
    def _functions_wait(self) -> bool:
        """Whether the functions name columns that the table or its views do not have yet."""
        return self.table.needs_views and (self._views_wait or bool(self.table.altered))

    def _make_views(self) -> Plan[None]:
        """Make the views; a view keeps the settings of Spark with which it was made."""
        table = self.table
        for view in table.views:
            yield Execute(view.statement(table), view.relation, view.values)
        if not table.model.row_rules:
            # They are of rules that the model had.
            for relation in (table.accounting, table.held, table.validated):
                if (yield IsKnown(relation)):
                    yield Execute(f"drop view {relation}")

    def _make_functions(self) -> Plan[None]:
        for function in self.table.functions:
            yield Execute(function.statement(self.table), values=function.values)

    def _check_contract(self) -> CheckContract:
        model = self.table.model
        query = (
            f"select * except ({model.unmerged_names}), {model.no_problems} as _problems from (\n"
            f"{model.sql}\n)"
        )
        return CheckContract(model.contract, query)

    def _build(self) -> Plan[None]:
        """Write all rows of a table that is new or built again."""
        table = self.table
        new = yield from self._find_new_changes()
        yield self._check_contract()
        yield Name("new_changes", sql.new_changes(table))
        changes = sql.typed_changes(NEW_CHANGES, table.model)
        yield from refuse_shared_keys(table, changes, Changes())
        found = yield from self._look_at_images(new)
        if found.is_partial or found.replaced_rows:
            everything = sql.with_drops(changes, table, EVERY_DROP)
            found = yield from KeyChangesRun(table).follow(found, everything)
        changes = sql.with_drops(changes, table, self._drops(new))
        rows = yield from self._rows_to_write(found, self._completed(changes, found))
        if table.model.options.retention:
            rows = sql.without_expired_tombstones(rows, table.model)
        if table.rebuild:
            comments = comments_of(column.definition for column in table.model.stored)
            yield Name("rebuilt_rows", rows, comments)
            rows = "select * from rebuilt_rows"
        yield self._commit(table.write(rows, found.noted))

    def _merge(self) -> Plan[Changes | None]:
        """Merge what silver has processed since the last run, and return what it was."""
        table = self.table
        new = yield from self._find_new_changes()
        if not new.most:
            yield self._commit(table.commit_only)
            return None
        yield Stage("new_changes", sql.new_typed_changes(table, self._drops(new)))
        found, changes = (yield from self._look_at_new_changes(new)), NEW_CHANGES
        yield from refuse_shared_keys(table, changes, found)
        key_changes = KeyChangesRun(table)
        if (yield from key_changes.are_among(found)):
            everything = sql.new_typed_changes(table.everything, EVERY_DROP)
            found = yield from key_changes.follow(found, everything)
        if found.follows_keys:
            yield Stage("new_changes", self._completed(changes, found))
            found = yield from key_changes.count_again(found)
        else:
            changes = self._completed(changes, found)
        if not found.count:
            yield self._commit(table.commit_only)
            return None
        if found.truncates and not table.needs_views:
            yield from self._make_views()  # those of an earlier version know no extracts
        rows = yield from self._rows_to_write(found, changes)
        if table.model.options.retention:
            rows = sql.and_expired_tombstones(rows, table, found)
        yield Stage("changed_rows", rows)
        merge = sql.merge_versions if table.model.is_history else sql.merge_latest_rows
        yield self._commit(merge(table, found), is_staged=True)
        return found

    def _drops(self, new: NewChanges) -> str:
        """The condition on the markers of a DROP that the table stores; empty if it stores none."""
        return new.drops if self.table.model.options.applies_drops else ""

    def _completed(self, changes: str, found: Changes) -> str:
        """Changes with the columns that they leave as they are, and keys followed."""
        if found.is_partial:
            changes = sql.partial_changes(changes, self.table.model)
        if found.follows_keys:
            changes = sql.with_followed_changes(changes, self.table.model)
        return changes

    def _rows_to_write(self, found: Changes, changes: str) -> Plan[str]:
        """The last change of each key; for a history, all changes with their times."""
        table = self.table
        if not table.model.is_history:
            latest: str = sql.latest_rows(changes, table.model, found)
            return latest
        if table.keeps_times:
            changes = sql.known_as_before(changes, table)
        # Several parts of the next query read them, and Spark would plan and compute them for each.
        yield Stage("touched_changes", sql.changes_of_touched_keys(changes, table, found))
        versions: str = sql.versions_of_rows("select * from touched_changes", table, found)
        return versions

    def _commit(self, statement: str, is_staged: bool = False) -> Commit:
        """The statement that writes the table, and how far silver is read with it."""
        table = self.table
        assert table.last is not None  # else there was nothing to write
        return Commit(
            statement, table.storage, EVENTS, table.last, table.rebuild, is_staged, table.commit
        )

    def _find_new_changes(self) -> Plan[NewChanges]:
        """Return the changes in silver for the table.

        The file that runs of silver leave has them. If the table is further behind than that file
        reaches, silver.events is queried. From here on queries are compiled, or interpreted if
        there is little to do.
        """
        table = self.table
        counted = table.changes
        if counted is None:
            names = sql.names_of_dropped_table()
            query = query_of_latest(EVENTS, -1 if table.read is None else table.read, names)
            counted = counts_of((yield Ask(query, once=True)))
        new = NewChanges(tuple(each for each in counted if table.model.reads_table(each.source)))
        if table.read is None:
            yield Expect(table.storage)
        elif new.most:
            yield Expect(table.storage, new.most)
        return new

    def _look_at_images(self, new: NewChanges) -> Plan[Changes]:
        """Tell whether changes of a table that is built are partial, or may change the key.

        Only their images tell. A table without updates has no such changes.
        """
        if not new.has_updates:
            return Changes()
        partial, replaced = f"count_if({self.table.model.is_partial})", "count_if(_is_replaced)"
        (row,) = yield Ask(f"select {partial}, {replaced} from new_changes")
        found = Changes(partial_changes=row[0], replaced_rows=row[1], is_partial=row[0] > 0)
        return (yield from self._note_partial(found)) if found.is_partial else found

    def _look_at_new_changes(self, new: NewChanges) -> Plan[Changes]:
        """Count what the changes of a run that merges are; they are staged, their values typed."""
        found = yield from count_changes(self.table.model.key, new.most <= FEW)
        found = replace(found, has_pairs=new.has_pairs)
        if found.partial_changes:
            return (yield from self._note_partial(replace(found, is_partial=True)))
        return replace(found, is_partial=(yield from self._has_partial_rows()))

    def _note_partial(self, found: Changes) -> Plan[Changes]:
        for column, names in self.table.model.made_of_several.items():
            yield Say(
                f"{self.table.view}: updates carry a part of a row, and {column} is made from "
                f"several columns of the source ({', '.join(names)}): it is null where an update "
                "has some of them. Declare it as a derived column, computed after the merge."
            )
        return (yield from note(self.table, found, {PARTIAL_ROWS: "some"}))

    def _has_partial_rows(self) -> Plan[bool]:
        """Whether some stored row has columns that were written before its last change.

        Most tables never had such a row, and a property says so.
        """
        if self.table.properties.get(PARTIAL_ROWS) == "none":
            return False
        condition = "_column_sequences is not null"
        return bool((yield Ask(f"select 1 from {self.table.storage} where {condition} limit 1")))
