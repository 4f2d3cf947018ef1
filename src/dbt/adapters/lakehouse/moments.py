"""Up to where each source is complete, and the moment at which gold shows all tables of it."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.delta.log import (
    is_table,
    last_commit,
    read_beside,
    write_beside,
)
from cdc_lakehouse.delta.statements import create_table
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.complete_until import (
    COLUMNS,
    FILE,
    TABLE,
    Complete,
    Moment,
    State,
    read_state,
    rows_in_sql,
)
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.gold_relations import storage_of
from cdc_lakehouse.engine.materializations import HISTORY, gold_kind, kind_of
from cdc_lakehouse.engine.progress import (
    SECOND,
)
from cdc_lakehouse.routes import Routes, read_routes
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.progress import Progress
from dbt.adapters.lakehouse.tables import Tables, folder_of, tell

# What is read to tell how far partitions have come.
SUMMARIES = ("silver.result_counts", "silver.message_counts")
NEVER = -1  # the version of a table of which nothing is known


class Moments:
    """The table silver.complete_until: what it says after a run, in one commit."""

    def __init__(self, tables: Tables, marks: Marks) -> None:
        self.tables, self.marks = tables, marks
        self._making, self._is_there = Lock(), False

    @property
    def table(self) -> BaseRelation:
        """The table."""
        return self.tables.named(TABLE)

    def ensure(self) -> None:
        """Make the table, an empty one, if there is none: views read it by its name."""
        with self._making:  # several models of a run may ask for it at once
            if not self._is_there and not self.tables.exists(self.table):
                columns = [{"name": name, "data_type": kind} for name, kind in COLUMNS.items()]
                self.tables.adapter.execute(create_table(TABLE, columns, {}))
            self._is_there = True

    def shown(self) -> str:
        """Return the moment that gold shows, as the text that a model remembers."""
        with short_errors():
            self.ensure()
            return Moment.of(self._rows()).text

    def move(self, results: Iterable[Any], nodes: Iterable[Mapping[str, Any]]) -> str:
        """Note up to where each source is complete, and show it in gold if all of gold has it.

        Args:
            results: those of the run.
            nodes: those of dbt's graph.
        """
        models = [
            node
            for node in nodes
            if node["resource_type"] == "model" and gold_kind(node["config"]["materialized"])
        ]
        if not self._is_wanted() or not (routes := self._routes_asked_for(models)):
            return ""
        missing = [name for name in SUMMARIES if not self.tables.is_known(self.tables.named(name))]
        if missing:
            tell(f"{TABLE} stays: it is made of {missing[0]}, which no run has made yet.")
            return ""
        with short_errors():
            self._move(routes, models, {r.node.unique_id for r in results if r.status == "success"})
        return ""

    def _is_wanted(self) -> bool:
        """Whether the command at work builds tables from all rows."""
        is_run = get_flags().WHICH in ("run", "build") and not self.tables.reads_a_part_only("")
        return is_run and is_table(folder_of(self.tables.events))

    def _routes_asked_for(self, models: list[Mapping[str, Any]]) -> Routes | None:
        """The routes; None if nobody reads the table: there is no history, no source has a name."""
        with short_errors():
            routes = read_routes(Path(self.tables.adapter.config.project_root))
        histories = any(kind_of(model) == HISTORY for model in models)
        is_named = any(route.source for route in routes.in_precedence())
        return routes if histories or is_named else None

    def _move(self, routes: Routes, models: list[Mapping[str, Any]], built: set[str]) -> None:
        self.ensure()
        events = self.tables.snapshot(self.tables.events).version()
        read = self.marks.mark(self.tables.events, change_log.MESSAGES).version
        known = self._known(events)
        state = known
        is_same = (known.events, known.routes) == (events, routes.digest)
        if not is_same or any(r.idle_after for r in routes.in_precedence()):
            little = self.tables.has_little_since(self.tables.events, None)
            self.tables.compile_queries(not little)
            state = Progress(self.tables, known, routes).after(events, read)
        sources = state.sources
        others = [model for model in models if model["unique_id"] not in built]
        waiting = [model for model in others if not self._has_merged(model, read)]
        if not waiting and read is not None:
            now = int(time.time() * SECOND)
            sources = tuple(each.in_gold(now, read) for each in sources)
        elif not all(each.is_shown for each in sources):
            names = ", ".join(sorted(f"{m['schema']}.{m['alias']}" for m in waiting))
            tell(f"The moment of gold stays: {names} has not merged what silver has.")
        if sources != known.sources:
            if not self._write(sources):
                return
        elif is_same:
            return
        path = folder_of(self.table)
        version = last_commit(path)
        assert version is not None  # it was made above
        state = replace(state, version=version, sources=sources)
        write_beside(self.tables.spark, path, FILE, state.text())

    def _write(self, sources: tuple[Complete, ...]) -> bool:
        """Commit the rows; tell whether no other run has done so meanwhile."""
        try:
            self.tables.adapter.execute(f"insert overwrite {TABLE}\n{rows_in_sql(sources)}")
        except DbtRuntimeError as error:
            if "CONCURRENT" not in str(error).upper():
                raise
            tell(f"{TABLE} stays: another run has written it at the same time; the next goes on.")
            return False
        return True

    def _known(self, events: int) -> State:
        """The state that an earlier run left; nothing if silver was restored or rebuilt since."""
        path = folder_of(self.table)
        left = read_state(read_beside(self.tables.spark, path, FILE))
        version = last_commit(path)
        if left and left.events > events:
            tell(f"{TABLE} begins again: silver.events was restored or made again.")
            return State(NEVER, NEVER, None, "", ())
        if left and left.version == version:
            return left
        return State(NEVER, NEVER, None, "", self._rows())

    def _rows(self) -> tuple[Complete, ...]:
        times = ", ".join(
            f"unix_micros({name}) as {name}" if kind == "timestamp" else name
            for name, kind in COLUMNS.items()
        )
        rows = self.tables.rows(f"select {times} from {TABLE}")
        return tuple(Complete(**row.asDict() | {"topics": tuple(row.topics)}) for row in rows)

    def _has_merged(self, model: Mapping[str, Any], last: int | None) -> bool:
        """Whether a gold table has all that silver has; one that was never built has no readers."""
        view = self.tables.adapter.Relation.create(
            schema=model["schema"], identifier=model["alias"]
        )
        storage = storage_of(view)
        if not is_table(folder_of(storage)):
            return True
        read = self.marks.mark(storage, EVENTS).version
        if read is None or last is None or read >= last:
            return read is not None
        kept = change_log.read_kept(self.tables.spark, folder_of(self.tables.events))
        return kept is not None and kept.changes_since(read) == []
