"""Answer data tests: what came since they last passed, and what `lakehouse check` finds."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dbt.flags import get_flags

from cdc_lakehouse.delta.log import is_table, read_beside, write_beside
from cdc_lakehouse.delta.past import identifier_of, keeps_rows_since
from cdc_lakehouse.engine.change_log import MESSAGES
from cdc_lakehouse.engine.duplicates import reach
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.latest_changes import COLUMNS, first_sequences_of, sequences_of
from cdc_lakehouse.engine.passed_tests import FILE, Passed, read_passed, text_of
from cdc_lakehouse.report.findings import findings
from cdc_lakehouse.report.limits import read_limits
from cdc_lakehouse.report.looking import Looker
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.sql import quoted
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.tables import Tables

NOTHING = ("", "", "", "")


class DataTests:
    """How far each data test has passed, and what those ask that look at a whole lakehouse.

    Commands that only compile a test ask nothing.
    """

    def __init__(self, tables: Tables, marks: Marks) -> None:
        self.tables, self.marks = tables, marks
        self._looked_at: dict[str, Passed] = {}  # in this run, by the name of the test

    def passed_before(self, node: Mapping[str, Any]) -> int:
        """Return up to which commit of bronze.messages a data test has passed.

        Args:
            node: the test as dbt has it.

        Returns:
            -1 if it has not, if it is another test since, or if rows that it has seen were changed
            or removed: it then has to look at everything.
        """
        path = warehouse_path(*EVENTS.split("."))
        if not is_table(path):
            return -1
        name, definition = node["unique_id"], hashlib.md5(node["raw_code"].encode()).hexdigest()
        version = self.tables.snapshot(self.tables.events).version()
        read = self.marks.version_read(self.tables.events, MESSAGES)
        messages = warehouse_path(*MESSAGES.split("."))
        commits = identifier_of(path, version), identifier_of(messages, read)
        self._looked_at[name] = Passed(definition, version, read, commits)
        passed = read_passed(read_beside(self.tables.spark, path, FILE)).get(name)
        if not passed or passed.definition != definition:
            return -1
        seen = ((path, passed.events), (messages, passed.messages))
        holds = all(
            keeps_rows_since(*place, commit)
            for place, commit in zip(seen, passed.commits, strict=True)
        )
        return passed.messages if holds else -1

    def note_passed_tests(self, results: Iterable[Any]) -> str:
        """Note, of the tests of this run that passed, how far they have looked."""
        if self.tables.reads_a_part_only(""):
            return ""
        passed = {
            result.node.unique_id: self._looked_at[result.node.unique_id]
            for result in results
            if result.node.unique_id in self._looked_at
            and (result.status, result.failures) == ("pass", 0)
        }
        if passed:
            path = warehouse_path(*EVENTS.split("."))
            known = read_passed(read_beside(self.tables.spark, path, FILE))
            write_beside(self.tables.spark, path, FILE, text_of(known | passed))
        return ""

    def places_since(self, version: int) -> str:
        """Return the condition on changes whose place in the source a newer change may have, too.

        Args:
            version: changes of later commits of bronze.messages are new; with -1 all are.
        """
        if version < 0 or not _run():
            return "true"
        new = self.tables.rows(
            f"select {COLUMNS}, max(sequence), min(sequence) from {EVENTS} "
            f"where kind in ('row_change', 'truncate') and bronze_version > {version} "
            f"group by {COLUMNS}"
        )
        last = sequences_of(new)
        return reach(first_sequences_of(new), last, last) or "false"

    def findings(self) -> str:
        """Return the query of what is beyond a limit: a row per finding, as the command has it."""
        rows = []
        if _run() and is_table(warehouse_path(*EVENTS.split("."))):
            project = Path(self.tables.adapter.config.project_root)
            with short_errors():
                facts = Looker(self.tables.spark, project).look(is_whole=False)
                found = findings(facts, read_limits(project))
            rows = [(f.limit, f.subject, f.text, f.remedy) for f in found]
        values = ", ".join(f"({', '.join(map(quoted, row))})" for row in rows or [NOTHING])
        condition = "" if rows else " where false"
        return (
            f"select * from values {values} as findings (limit, subject, text, remedy){condition}"
        )


def _run() -> bool:
    """Whether the command at work runs tests."""
    return get_flags().WHICH in ("build", "test")
