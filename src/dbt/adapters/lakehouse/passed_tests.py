"""Data tests that look at what came since they last passed."""

import hashlib
from collections.abc import Iterable, Mapping
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.base.meta import available
from dbt.adapters.contracts.connection import AdapterRequiredConfig
from dbt.flags import get_flags

from cdc_lakehouse.delta.log import is_table, read_beside, write_beside
from cdc_lakehouse.delta.past import identifier_of, keeps_rows_since
from cdc_lakehouse.engine.change_log import MESSAGES
from cdc_lakehouse.engine.duplicates import reach
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.latest_changes import COLUMNS, first_sequences_of, sequences_of
from cdc_lakehouse.engine.passed_tests import FILE, Passed, read_passed, text_of
from cdc_lakehouse.runtime.paths import warehouse_path
from dbt.adapters.lakehouse.marks import MarksAdapter


class PassedTestsAdapter(MarksAdapter):
    """How far each data test has passed."""

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._looked_at: dict[str, Passed] = {}  # in this run, by the name of the test

    @available.parse(lambda *args, **kwargs: -1)
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
        version = self.snapshot(self.events).version()
        read = self.version_read(self.events, MESSAGES)
        messages = warehouse_path(*MESSAGES.split("."))
        commits = identifier_of(path, version), identifier_of(messages, read)
        self._looked_at[name] = Passed(definition, version, read, commits)
        passed = read_passed(read_beside(self.spark, path, FILE)).get(name)
        if not passed or passed.definition != definition:
            return -1
        seen = ((path, passed.events), (messages, passed.messages))
        holds = all(
            keeps_rows_since(*place, commit)
            for place, commit in zip(seen, passed.commits, strict=True)
        )
        return passed.messages if holds else -1

    @available.parse(lambda *args, **kwargs: "")
    def note_passed_tests(self, results: Iterable[Any]) -> str:
        """Note, of the tests of this run that passed, how far they have looked."""
        if self.reads_a_part_only(""):
            return ""
        passed = {
            result.node.unique_id: self._looked_at[result.node.unique_id]
            for result in results
            if result.node.unique_id in self._looked_at
            and (result.status, result.failures) == ("pass", 0)
        }
        if passed:
            path = warehouse_path(*EVENTS.split("."))
            known = read_passed(read_beside(self.spark, path, FILE))
            write_beside(self.spark, path, FILE, text_of(known | passed))
        return ""

    @available.parse(lambda *args, **kwargs: "true")
    def places_since(self, version: int) -> str:
        """Return the condition on a change that a newer one may have its place in the source.

        Args:
            version: changes of later commits of bronze.messages are new; with -1 all are. Commands
                that only compile the test ask nothing.
        """
        if version < 0 or get_flags().WHICH not in ("build", "test"):
            return "true"
        new = self.rows(
            f"select {COLUMNS}, max(sequence), min(sequence) from {EVENTS} "
            f"where kind in ('row_change', 'truncate') and bronze_version > {version} "
            f"group by {COLUMNS}"
        )
        last = sequences_of(new)
        return reach(first_sequences_of(new), last, last) or "false"
