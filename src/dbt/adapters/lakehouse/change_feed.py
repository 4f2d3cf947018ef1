"""Answer `changes_of`: which commits of a gold table's change feed a model has to read."""

from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.feed import FEED, PURGED, first_after_purge, first_lost
from cdc_lakehouse.delta.past import identifier_of, why_not_of_past
from cdc_lakehouse.engine.change_feed import (
    CannotGoOn,
    FeedReading,
    FeedRows,
    MomentReading,
    Position,
    kind_of_reading,
    refuse_without_history,
    refuse_without_option,
)
from cdc_lakehouse.engine.complete_until import Moment
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_relations import plain_of, storage_of
from cdc_lakehouse.engine.materializations import gold_kind
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.errors import LakehouseError
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.gold import Gold
from dbt.adapters.lakehouse.tables import Tables, folder_of


class Feeds:
    """The change feeds of gold tables."""

    def __init__(self, tables: Tables, gold: Gold) -> None:
        self.tables, self.gold = tables, gold

    def changes_of(
        self,
        relation: BaseRelation,
        nodes: Iterable[Mapping[str, Any]],
        since: Mapping[str, Any] | None,
        consumer: BaseRelation,
    ) -> str:
        """Return the query of what a model reads of a feed: every row, or the commits after the
        last that it has read.

        Args:
            relation: the gold model; with --empty or --sample a part of it, of which none is read.
            nodes: those of dbt's graph.
            since: what `last_change_read` returns.
            consumer: the model that reads.
        """
        with short_errors():
            reading = self.reading_of_feed(relation, nodes, since, str(consumer.identifier))
        return sql.rows_of_feed(reading)

    def changes_until(
        self,
        relation: BaseRelation,
        nodes: Iterable[Mapping[str, Any]],
        since: str | None,
        until: str,
        consumer: BaseRelation,
    ) -> str:
        """Return the query of what differs in a history between two moments.

        Args:
            relation, nodes, consumer: as of `changes_of`.
            since: the moment that the model has read, as its text; None if it begins.
            until: the other.
        """
        with short_errors():
            rows = FeedRows(self._model_of(relation, nodes))
            refuse_without_history(rows.model, str(consumer.identifier))
            end = Moment.read(until)
            begin = Moment.read(since) if since else Moment(0, {})
        if self.tables.reads_a_part_only(relation.render()):
            end = begin
        storage = storage_of(relation.include(database=False)).render()
        return sql.changes_between_moments(MomentReading(rows, storage, begin, end))

    def reading_of_feed(
        self,
        relation: BaseRelation,
        nodes: Iterable[Mapping[str, Any]],
        since: Mapping[str, Any] | None,
        consumer: str,
    ) -> FeedReading:
        """Return what a model reads of a feed; the arguments are those of `changes_of`.

        Raises:
            CannotGoOn: the commits after the last that it has read do not tell what has changed.
            LakehouseError: there is no feed.
        """
        rows, table = FeedRows(self._model_of(relation, nodes)), plain_of(relation)
        self.tables.forget_snapshots()  # the run of the model may have been in another thread
        refuse_without_option(rows.model, consumer)
        if self.tables.reads_a_part_only(relation.render()) or not self.tables.exists(table):
            # Silver has read nothing yet, or this run may note nothing that it has read.
            view = relation.include(database=False)
            return FeedReading(rows, f"{view.schema}.{view.identifier}", "", "nothing")
        properties, state = self.tables.properties(table), self.tables.snapshot(table)
        position = Position.kept(since["commit"], since.get("feed")) if since else None
        last, name = state.version(), table.render()
        kind = kind_of_reading(position, properties, last, name, consumer)
        folder, first = folder_of(table), 0
        if position and position.known and (found := why_not_of_past(folder, *position.known)):
            raise CannotGoOn(consumer, name, f"it {found}")
        if position and kind == "changes":
            first = first_after_purge(properties.get(PURGED), position.commit + 1)
            lost = first_lost(folder, first, last)
            if lost is not None:
                raise CannotGoOn(consumer, name, f"the changes of its commit {lost} are removed")
        identifier = identifier_of(folder, last)
        return FeedReading(
            rows, name, properties[FEED], kind, first, last, state.timestamp(), identifier
        )

    def _model_of(self, relation: BaseRelation, nodes: Iterable[Mapping[str, Any]]) -> GoldModel:
        for node in nodes:
            if (
                node["resource_type"] == "model"
                and (node["schema"], node["alias"]) == (relation.schema, relation.identifier)
                and gold_kind(node["config"]["materialized"])
            ):
                return self.gold.model(node, "")
        raise LakehouseError(
            f"changes_of: {relation.schema}.{relation.identifier} is not a gold model of this "
            "project; give it ref() of one that says change_feed=true."
        )
