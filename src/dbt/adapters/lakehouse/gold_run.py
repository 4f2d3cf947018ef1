"""Bring a gold table up to date: what is done in which order. Macros of dbt render the SQL."""

from dataclasses import replace

from cdc_lakehouse.delta.commit import set_for_one_statement
from cdc_lakehouse.delta.log import bytes_since
from cdc_lakehouse.engine.changes import FEW, Changes, NewChanges, count_changes
from cdc_lakehouse.engine.latest_changes import counts_of, query_of_latest
from cdc_lakehouse.engine.rebuilds import PARTIAL_ROWS
from cdc_lakehouse.runtime.session import FEW_ROWS, FEW_STORED_BYTES, compile_plans
from dbt.adapters.lakehouse.expressions import NULL_FOR_FAILURE
from dbt.adapters.lakehouse.moves import Moves
from dbt.adapters.lakehouse.plain_table import PlainTable
from dbt.adapters.lakehouse.table_run import NEW_CHANGES, TableRun
from dbt.adapters.lakehouse.tables import EVENTS, folder_of

# Who follows rows has to know of each DROP, also of one that leaves the rows in gold.
EVERY_DROP = "true"
# The macros of what judges rows, in which an expression that fails is null.
JUDGING = ("view_of_judged_rows", "as_known_function")


class GoldRun(TableRun):
    """What a run does with a gold table."""

    def run(self) -> None:
        """Make the table and its views where they are missing, and write what is new for it."""
        self._prepare()
        table, found = self.table, None
        if table.is_part and (table.read is None or table.read != table.last):
            self.macros["assert_gold_contract"](table)
            self.macros["nothing_written"]()
        elif table.is_up_to_date:
            self.macros["nothing_new"]()
        elif table.read is None:
            self._build()
            if self._views_wait:
                self._make_views()
            if self._functions_wait:
                self._make_functions()
        else:
            found = self._merge()
        if not table.is_part and table.last is not None:
            PlainTable(self.adapter, table, self.macros).keep(found)

    def _prepare(self) -> None:
        if self.table.said:
            self.macros["log"](self.table.said, info=True)
        if not self.table.exists:
            self.adapter.create_schema(self.table.storage)
            self.adapter.execute(self.table.create)
        table = self.table
        if not table.needs_views:
            return
        if not self._views_wait:
            self._make_views()
        elif self.adapter.is_known(table.problems):
            # A run that is killed before it makes them leaves it to the next.
            self.adapter.execute(f"alter view {table.problems} set {table.unfinished}")
        if not self._functions_wait:
            self._make_functions()
            return
        # They name the columns that the table gets; a run that is killed leaves none that are old.
        for function in table.functions.values():
            self.adapter.execute(f"drop function if exists {function}")

    @property
    def _views_wait(self) -> bool:
        """Whether the views name columns that the table has only once it is built again."""
        table = self.table
        is_judged = table.rebuild and bool(table.model.row_rules)
        return table.needs_views and (is_judged or table.is_of_older_layout)

    @property
    def _functions_wait(self) -> bool:
        """Whether the functions name columns that the table or its views do not have yet."""
        return self.table.needs_views and (self._views_wait or bool(self.table.altered))

    def _make_views(self) -> None:
        """Make the views; a view keeps the settings of Spark with which it was made."""
        for macro, view in self.table.views.items():
            self._make(macro)
            self.adapter.note_text(view)
        if not self.table.model.row_rules:
            # They are of rules that the model had.
            for view in (self.table.accounting, self.table.held, self.table.judged):
                if self.adapter.is_known(view):
                    self.adapter.execute(f"drop view {view}")

    def _make_functions(self) -> None:
        for function in self.table.functions:
            self._make(function)

    def _make(self, macro: str) -> None:
        values = NULL_FOR_FAILURE if macro in JUDGING else {}
        with set_for_one_statement(self.adapter.spark, values):
            self.adapter.execute(self.macros[macro](self.table))

    def _build(self) -> None:
        """Write all rows of a table that is new or built again."""
        table, macros = self.table, self.macros
        new = self._find_new_changes()
        macros["assert_gold_contract"](table)
        self.adapter.name_query("new_changes", macros["new_changes"](table))
        changes = macros["typed_changes"](NEW_CHANGES, table.model)
        found = self._look_at_images(new)
        if found.is_partial or found.replaced_rows:
            everything = macros["with_drops"](changes, table, EVERY_DROP)
            found = Moves(self.adapter, table, macros).follow(found, everything)
        changes = macros["with_drops"](changes, table, self._drops(new))
        rows = self._rows_to_write(found, self._completed(changes, found))
        if table.model.options.retention:
            rows = macros["without_expired_tombstones"](rows, table.model)
        self._write(table.write(rows, found.noted))

    def _merge(self) -> Changes | None:
        """Merge what silver has settled since the last run, and return what it was."""
        table, macros = self.table, self.macros
        new = self._find_new_changes()
        if not new.most:
            self._write(table.commit_only)
            return None
        self.adapter.stage("new_changes", macros["new_typed_changes"](table, self._drops(new)))
        found, changes = self._look_at_new_changes(new), NEW_CHANGES
        moves = Moves(self.adapter, table, macros)
        if moves.are_among(found):
            found = moves.follow(found, macros["new_typed_changes"](table.everything, EVERY_DROP))
        if found.follows_moves:
            self.adapter.stage("new_changes", self._completed(changes, found))
            found = moves.count_again(found)
        else:
            changes = self._completed(changes, found)
        if not found.count:
            self._write(table.commit_only)
            return None
        if found.truncates and not table.needs_views:
            self._make_views()  # those of an earlier version know no extracts
        rows = self._rows_to_write(found, changes)
        if table.model.options.retention:
            rows = macros["and_expired_tombstones"](rows, table, found)
        self.adapter.stage("changed_rows", rows)
        merge = macros["merge_versions" if table.model.is_history else "merge_latest_rows"]
        self._write(merge(table, found), is_staged=True)
        return found

    def _drops(self, new: NewChanges) -> str:
        """The condition on the markers of a DROP that the table stores; empty if it stores none."""
        return new.drops if self.table.model.options.applies_drops else ""

    def _completed(self, changes: str, found: Changes) -> str:
        """Changes with the columns that they leave as they are, and moved rows followed."""
        if found.is_partial:
            changes = self.macros["partial_changes"](changes, self.table.model)
        if found.follows_moves:
            changes = self.macros["with_followed_changes"](changes, self.table.model)
        return changes

    def _rows_to_write(self, found: Changes, changes: str) -> str:
        """Of a current state the last change of each key, of a history all, with their times."""
        table, macros = self.table, self.macros
        if not table.model.is_history:
            latest: str = macros["latest_rows"](changes, table.model, found)
            return latest
        if table.keeps_times:
            changes = macros["known_as_before"](changes, table)
        touched = macros["changes_of_touched_keys"](changes, table, found)
        if table.read is not None:
            # Several parts of the next query read them, and Spark would plan them for each.
            self.adapter.stage("touched_changes", touched)
            touched = "select * from touched_changes"
        versions: str = macros["versions_of_rows"](touched, table, found)
        return versions

    def _write(self, statement: str, is_staged: bool = False) -> None:
        """Run the statement that writes the table, and commit with it how far silver is read."""
        table = self.table
        self.macros["write_and_commit"](
            statement,
            table.storage,
            EVENTS,
            table.last,
            rebuild=table.rebuild,
            is_staged=is_staged,
            commit=table.commit,
        )

    def _find_new_changes(self) -> NewChanges:
        """Return what silver has for the table.

        The runs of silver have left it; of a table that is too far behind, silver.events is asked.
        From here on queries are compiled, or interpreted if there is little to do.
        """
        table, adapter = self.table, self.adapter
        counted = table.changes
        if counted is None:
            names = self.macros["names_of_dropped_table"]()
            query = query_of_latest(EVENTS, -1 if table.read is None else table.read, names)
            counted = counts_of(adapter.rows_asked_once(query))
        new = NewChanges(tuple(each for each in counted if table.model.reads_table(each.source)))
        if table.read is None:
            adapter.expect_rows_since(adapter.events, None)
        elif new.most:
            path = folder_of(table.storage)
            size = bytes_since(path, None)
            are_few = new.most <= FEW_ROWS and size is not None and size <= FEW_STORED_BYTES
            compile_plans(adapter.spark, not are_few)
        return new

    def _look_at_images(self, new: NewChanges) -> Changes:
        """Tell whether changes of a table that is built are partial, or may change the key.

        Only their images tell. A table without updates has no such changes.
        """
        if not new.has_updates:
            return Changes()
        partial, replaced = f"count_if({self.table.model.is_partial})", "count_if(_is_replaced)"
        (row,) = self.adapter.rows(f"select {partial}, {replaced} from new_changes")
        found = Changes(partial_changes=row[0], replaced_rows=row[1], is_partial=row[0] > 0)
        return self._note_partial(found) if found.is_partial else found

    def _look_at_new_changes(self, new: NewChanges) -> Changes:
        """Count what the changes of a run that merges are; they are staged, their values typed."""
        found = count_changes(self.adapter.rows, self.table.model.key, new.most <= FEW)
        found = replace(found, has_halves=new.has_halves)
        if found.partial_changes:
            return self._note_partial(replace(found, is_partial=True))
        return replace(found, is_partial=self._has_partial_rows())

    def _note_partial(self, found: Changes) -> Changes:
        for column, names in self.table.model.made_of_several.items():
            said = (
                f"{self.table.view}: updates carry a part of a row, and {column} is made from "
                f"several columns of the source ({', '.join(names)}): it is null where an update "
                "has some of them. Declare it as a derived column, computed after the merge."
            )
            self.macros["log"](said, info=True)
        return self.note(found, {PARTIAL_ROWS: "some"})

    def _has_partial_rows(self) -> bool:
        """Whether some stored row has columns that are older than itself.

        Most tables never had one, and say so.
        """
        if self.table.properties.get(PARTIAL_ROWS) == "none":
            return False
        condition = "_column_sequences is not null"
        return bool(
            self.adapter.rows(f"select 1 from {self.table.storage} where {condition} limit 1")
        )
