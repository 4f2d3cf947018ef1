"""Follow rows whose primary key changes; `engine.key_changes` says where their values come from.

An update that changes the primary key and carries only some columns is a partial key change: the
row under the new key keeps the other columns of the row that it replaces. All earlier changes of
the old key decide these values, and a late one may change them.

Oracle, PostgreSQL and others check keys when a statement ends, so rows of one statement may swap
keys: a row takes a key before the row that had it leaves. Such key changes collide: the removal of
the earlier row comes last, and would remove the wrong row.

So a run follows again, through all of silver, every key that such key changes connect with a
changed key.
"""

from dataclasses import replace

from cdc_lakehouse.delta.statements import set_properties
from cdc_lakehouse.engine.changes import Changes, count_changes
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.key_changes import (
    IDENTITY,
    QUERY_OF_CHANGES,
    change_of,
    connected,
    follow,
    identity,
    is_marked,
    marks_of,
    query_of_followed_keys,
    query_of_key_changes,
)
from cdc_lakehouse.engine.rebuilds import PARTIAL_KEY_CHANGES, PARTIAL_ROWS
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.steps import Ask, Execute, Expect, Keep, Name, Plan, Stage

# The changes that the run has given this name.
NEW_CHANGES = "select * from new_changes"


def note(table: GoldTable, found: Changes, properties: dict[str, str]) -> Plan[Changes]:
    """Note in a table's properties, before it has such rows, that it may have rows of a kind."""
    news = dict(properties.items() - table.properties.items())
    if news and not table.rebuild:
        yield Execute(set_properties(str(table.storage), news))
    return replace(found, noted={**found.noted, **properties})


class KeyChangesRun:
    """The rows of a gold table that got another key, in one run."""

    def __init__(self, table: GoldTable):
        self.table = table

    @property
    def model(self) -> GoldModel:
        """The gold model."""
        return self.table.model

    def are_among(self, found: Changes) -> Plan[bool]:
        """Tell whether a run that merges has to follow rows.

        It has to if its changes have partial or colliding key changes, or if the table has had some
        and the run changes one of their keys. The table keeps marks of these keys, unless they are
        too many.
        """
        marks = self.table.properties.get(PARTIAL_KEY_CHANGES, "none")
        if marks == "some" or (marks != "none" and (yield from self._has_marked_keys(marks))):
            return True
        if found.begun_rows:
            return True
        if not found.replaced_rows and not found.has_pairs:
            return False
        has_partial = found.partial_changes or self.table.properties.get(PARTIAL_ROWS) != "none"
        is_of_pair = (
            "(_operation in ('update', 'delete')"
            " and (_removed_key is null or (_is_replaced and _new_key is null)))"
        )
        pairs = sql.with_keys_of_pairs(NEW_CHANGES, self.model)
        ((are_partial, are_of_pairs, has_key_changes),) = yield Ask(
            f"select bool_or({self.model.is_under_new_key_in_part}), bool_or({is_of_pair}),"
            f" bool_or({self.model.is_under_new_key} or {self.model.is_removed}) from (\n{pairs}\n)"
        )
        # One of a pair whose other message came in an earlier run may be of a partial key change.
        if are_partial or (has_partial and found.has_pairs and are_of_pairs):
            return True
        if not has_key_changes:
            return False
        return bool((yield Ask(sql.collisions(pairs, self.table, found))))

    def _has_marked_keys(self, marks: str) -> Plan[bool]:
        is_of_one = is_marked(self.model.key.text(), marks)
        is_left = is_marked(self.model.parts.place_of_key_change, marks)
        condition = f"_truncated_table is not null or {is_of_one} or {is_left}"
        return bool((yield Ask(f"select 1 from new_changes where {condition} limit 1")))

    def follow(self, found: Changes, all_changes: str) -> Plan[Changes]:
        """Follow rows, and return the changes, which follow keys if there were any.

        It makes temporary views. `followed_keys`: the keys that are followed.
        `changes_of_followed_keys`: all changes of these. `kept_columns`: which change says the
        columns that a row keeps under its new key. `void_pairs`: the rows before that remove no
        row.

        Args:
            all_changes: the query of all changes that silver has for the table.
        """
        yield Expect(self.table.storage)
        pairs = sql.with_keys_of_pairs(all_changes, self.model)
        yield Name("all_changes", sql.with_collisions(pairs, self.model))
        keys = [tuple(row) for row in (yield Ask(query_of_key_changes(self.model)))]
        groups = connected((old, new) for old, new, _ in keys)
        if not (yield from self._name_followed_keys(groups)):
            return found
        waiting = {place for *_, place in keys if place is not None}
        properties = {PARTIAL_KEY_CHANGES: marks_of([*groups, *waiting])}
        found = yield from note(self.table, found, properties)
        yield Stage("changes_of_followed_keys", sql.changes_of_followed_keys(self.model))
        changes = [change_of(row.asDict()) for row in (yield Ask(QUERY_OF_CHANGES))]
        values = [column.name for column in self.model.values]
        followed = follow(changes, values, self.model.options.removing)
        change, said_by = (
            ", ".join(f"{prefix}_{name} {kind}" for name, kind in IDENTITY.items())
            for prefix in ("_change", "_said_by")
        )
        kept = [(*identity(k.change), *identity(k.said_by), list(k.columns)) for k in followed.kept]
        yield Keep("kept_columns", f"{change}, {said_by}, _columns array<string>", kept)
        yield Keep("void_pairs", change, [identity(each) for each in followed.void])
        return replace(found, is_partial=True, follows_keys=True)

    def _name_followed_keys(self, groups: dict[str, str]) -> Plan[bool]:
        """Make the view `followed_keys`; tell whether there is one.

        They are all keys that key changes connect with a key of the run's changes. All keys are new
        to a table that is built, and a TRUNCATE changes all.
        """
        names = [(key,) for key in groups]
        if self.table.read is not None and groups:
            yield Keep("followed_keys", "_key string", names)
            keys = yield Ask(query_of_followed_keys(self.model))
            touched = {groups.get(key) for (key,) in keys}
            if None not in touched:
                names = [(key,) for key, group in groups.items() if group in touched]
        yield Keep("followed_keys", "_key string", names)
        return bool(names)

    def count_again(self, found: Changes) -> Plan[Changes]:
        """Return what the staged changes are, once those of followed rows are among them."""
        counted = yield from count_changes(self.model.key, few=False)
        return replace(found, count=counted.count, truncates=counted.truncates, keys=counted.keys)
