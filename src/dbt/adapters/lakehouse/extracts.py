"""Give full extracts of tables their places among the changes, before a run commits them."""

from dbt.adapters.base.relation import BaseRelation
from pyspark.sql import DataFrame

from cdc_lakehouse.delta.kept import forget
from cdc_lakehouse.delta.statements import set_properties
from cdc_lakehouse.engine import extracts
from cdc_lakehouse.engine.extracts import Extract, Key
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.latest_changes import is_of_none
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.reprocessed import PROPERTY as REPROCESSED
from cdc_lakehouse.engine.reprocessed import with_tables
from cdc_lakehouse.engine.window import Window
from cdc_lakehouse.routes import EXTRACT
from dbt.adapters.lakehouse.tables import Tables

PLACES = "extract_places"
# A change log gets this property before it gets an extract.
HAS_EXTRACTS = {extracts.PROPERTY: "some"}


class Extracts:
    """The extracts that a run of the change log brings, and those that its changes may move."""

    def __init__(self, tables: Tables, target: BaseRelation, window: Window):
        self.tables, self.target, self.window = tables, target, window
        self.names_of_dropped = sql.names_of_dropped_table()
        self.known: list[Extract] = []
        self.has_new = EXTRACT in window.formats

    @property
    def properties(self) -> dict[str, str]:
        """The property of a change log that has extracts; none without."""
        has = self.has_new or self.tables.properties(self.target).get(extracts.PROPERTY)
        return HAS_EXTRACTS if has else {}

    def place(self, results: str, reprocesses: bool) -> None:
        """Make the view of the places that the rows of new extracts take, and move the others.

        Args:
            results: the query of what this run makes of new messages.
            reprocesses: whether messages that have been processed are to be processed again.
        """
        spark, builds = self.tables.spark, self.window.read is None
        if not builds and self.tables.properties(self.target).get(extracts.PROPERTY):
            rows = is_of_none("processed", "reprocessed_rows") if reprocesses else None
            query = extracts.query_of_known(self.window.table, rows)
            self.known = extracts.extracts_of(self.tables.rows(query))
        self._name_places({})
        if not self.has_new and not (reprocesses and self.known):
            return
        new = extracts.extracts_of(self.tables.rows(extracts.QUERY_OF_NEW)) if self.has_new else []
        without = is_of_none("earlier", "reprocessed_rows") if reprocesses else None
        # The rows of extracts have no place yet: of the others it needs none.
        changes = self._changes(spark.sql(results), without)
        places = self._places([*new, *self.known], changes)
        self._name_places({each.key: places[each.key] for each in new})
        if self.has_new and not self.window.build.rebuild:
            self._set(HAS_EXTRACTS)
        self._move(places)
        self.known = []

    def move(self, written: str) -> bool:
        """Move the known extracts that written, not yet committed changes move.

        Args:
            written: a view of these changes.

        Returns:
            Whether any was moved: then other statements have committed to the change log.
        """
        if not self.known:
            return False
        rows = self.tables.spark.table(written)
        new = f"select {extracts.COLUMNS_OF_CHANGES} from {written}"
        query = extracts.query_of_movable(self.known, new, self.names_of_dropped)
        movable = {tuple(row) for row in self.tables.rows(query)}
        found = [each for each in self.known if each.key in movable]
        return bool(found) and self._move(self._places(found, self._changes(rows, None)))

    def _changes(self, new: DataFrame, without: str | None) -> str:
        """The query of new changes, and of those that earlier runs have processed."""
        new.select(*extracts.COLUMNS_OF_CHANGES.split(", ")).createOrReplaceTempView("placing_new")
        if self.window.read is None:
            return "select * from placing_new"
        return f"""
            select {extracts.COLUMNS_OF_CHANGES} from {self.window.table} as earlier
            where {without or "true"}
            union all
            select * from placing_new"""

    def _places(self, wanted: list[Extract], changes: str) -> dict[Key, str]:
        if not wanted:
            return {}
        query = extracts.query_of_places(wanted, changes, self.names_of_dropped)
        return {(topic, partition): place for topic, partition, place in self.tables.rows(query)}

    def _move(self, places: dict[Key, str]) -> bool:
        """Give known extracts other places; gold heeds it once silver has come so far."""
        moved = [e for e in self.known if places.get(e.key, e.place) != e.place]
        if not moved:
            return False
        forget(self.tables.spark, EVENTS)
        noted = self.tables.properties(self.target).get(REPROCESSED)
        tables = [each.names for each in moved]
        self._set({REPROCESSED: with_tables(noted, tables, self.window.last)})
        new = {each.key: places[each.key] for each in moved}
        self.tables.adapter.execute(extracts.update_of(self.window.table, new))
        return True

    def _set(self, wanted: dict[str, str]) -> None:
        stored = self.tables.properties(self.target)
        if wanted.items() - stored.items():
            self.tables.adapter.execute(set_properties(self.window.table, wanted))

    def _name_places(self, places: dict[Key, str]) -> None:
        if self.has_new:
            self.tables.name_query(PLACES, extracts.query_of_rows(places))
