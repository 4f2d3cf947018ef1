"""Run the materializations of gold; `cdc_lakehouse.engine` decides what they do."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.spark.impl import SparkConfig

from cdc_lakehouse.delta.past import UNREAD, Mark, identifier_of
from cdc_lakehouse.engine import change_log
from cdc_lakehouse.engine.alterations import alterations
from cdc_lakehouse.engine.columns import (
    KNOWN_AT,
    gold_columns,
    primary_key,
    stored_columns,
)
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.engine.former_names import (
    refuse_former_reads,
    refuse_shared_names,
)
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_options import read_options
from cdc_lakehouse.engine.gold_relations import beside, complete_of, function_of, storage_of
from cdc_lakehouse.engine.gold_run import GoldRun
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.latest_changes import LatestChanges, TableChanges
from cdc_lakehouse.engine.materializations import HISTORY, gold_kind, kind_of
from cdc_lakehouse.engine.protected_models import with_protection
from cdc_lakehouse.engine.rebuilds import DEFINITION, KIND, why_rebuilt
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.reprocessed import PROPERTY as REPROCESSED
from cdc_lakehouse.engine.reprocessed import read_tables
from cdc_lakehouse.engine.rules import CODES_OF_VALUES, OTHER_CODES, read_rules
from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.engine.steps import follow
from cdc_lakehouse.engine.validated_rows import RULES
from cdc_lakehouse.engine.widening import Widened, widening
from cdc_lakehouse.sql import quoted
from dbt.adapters.lakehouse.config import LakehouseConfig
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.execution import Context, Execution
from dbt.adapters.lakehouse.expressions import check_expressions
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.moments import Moments
from dbt.adapters.lakehouse.protection import ProtectedColumns
from dbt.adapters.lakehouse.tables import INFERENCE, Tables, folder_of
from dbt.adapters.lakehouse.views import REPLACED, Views
from dbt.adapters.lakehouse.widening import find_widened, named

# With more columns than these nothing is inferred: it would take minutes.
MANY_COLUMNS = 200


class Gold:
    """Gold tables."""

    OPTIONS: ClassVar = {
        field.name for field in fields(LakehouseConfig) if field not in fields(SparkConfig)
    }

    def __init__(
        self,
        tables: Tables,
        marks: Marks,
        views: Views,
        protection: ProtectedColumns,
        moments: Moments,
    ) -> None:
        self.tables, self.marks, self.views, self.protection = tables, marks, views, protection
        self.moments = moments
        # The changes that runs of silver have left, by how far they had come.
        self._kept: dict[int | None, LatestChanges | None] = {}

    def check(self, node: Mapping[str, Any]) -> str:
        """Refuse a gold model whose key, options or rules are wrong, when it is compiled."""
        if node["resource_type"] == "model":
            model = self.model(node, "")
            if model.row_rules:
                check_expressions(self.tables.spark, model)
        return ""

    def model(self, node: Mapping[str, Any], sql: str) -> GoldModel:
        """Return what a model says.

        Args:
            node: the model as dbt has it.
            sql: its query; an empty text where only its YAML is asked for.

        Raises:
            DbtRuntimeError: its key, its options or its rules are wrong.
        """
        with short_errors():
            key = primary_key(node)
            options = read_options(node, key, self.OPTIONS, self.tables.adapter.config.models)
            rules = read_rules(node, key, options.on_violation)
            columns = gold_columns(node)
            refuse_shared_names(node["name"], columns)
        kind = kind_of(node)
        return GoldModel(
            node["name"],
            kind,
            sql,
            tuple(key),
            options,
            tuple(columns),
            tuple(stored_columns(columns, kind)),
            row_rules=rules,
            source_names=tuple(node["config"].get("meta", {}).get("source_tables", ())),
        )

    def plan(
        self, node: Mapping[str, Any], relation: BaseRelation, sql: str, full_refresh: bool
    ) -> GoldTable:
        """Return what this run of a gold model works with; Delta's log tells, without a query.

        Args:
            node: the model as dbt has it.
            sql: its query.
            full_refresh: whether a person asks to build the table again.
        """
        protection = self.protection.lines()
        model = self.model(node, sql)
        with short_errors():
            refuse_former_reads(model)
            model = replace(model, protected=with_protection(model, protection))
        self.protection.check_images(protection)
        self.tables.spark.conf.set(INFERENCE, str(len(model.columns) <= MANY_COLUMNS).lower())
        view = relation.incorporate(type="view")
        storage, said = storage_of(view), None
        exists = self.tables.exists(storage)
        properties = self.tables.properties(storage) if exists else {}
        is_replaced = exists and properties.get(KIND) != model.kind
        if is_replaced:
            said = f"{storage} is rebuilt: it was of another materialization"
            properties = {}
        mark, why, altered, is_part = UNREAD, None, [], self.tables.reads_a_part_only(sql)
        widened: tuple[Widened, ...] = ()
        events = self.marks.mark(self.tables.events, change_log.MESSAGES)
        last = events.version
        if properties:
            mark = self.marks.mark(storage, EVENTS)
            altered = self.tables.changed_columns(
                storage, [column.definition for column in model.stored]
            )
            if altered and model.options.type_widening and not is_part:
                widened = find_widened(self.tables, model, view, properties)
        # Where silver has read nothing there is nothing to build a table from.
        if properties and last is not None:
            why = why_rebuilt(
                properties,
                properties[DEFINITION] if widened else model.definition,
                [] if widened else altered,
                self._has_reprocessed_changes(model, mark.version, last),
                full_refresh,
                self.marks.why_not_of_past(mark, events),
            )
            said = f"{storage} is rebuilt: {why}" if why else None
        if widened and why is None:
            altered, said = [], f"{storage} has its columns widened in place: {named(widened)}"
        rebuild = why is not None
        read = None if rebuild else mark.version
        changes = self._changes(last, read)
        table = GoldTable(
            model,
            view,
            properties,
            rebuild,
            said,
            read,
            last,
            is_part,
            False,
            changes,
            altered,
            self._commit_read(events),
            is_replaced,
            () if rebuild or is_part else self._alterations(model, storage, properties, widened),
            has_complete=not self.views.is_of_model(complete_of(view)),
        )
        # A part of the sources must not take the place of what the views read.
        lacks_views = self._lacks_views(table)
        replaced = [] if lacks_views else self._replaced_views(table)
        has_other_rules = not lacks_views and self._validates_otherwise(table)
        if replaced and properties and not said and not has_other_rules:
            table = replace(table, said=REPLACED.format(", ".join(map(str, replaced))))
        is_altered = bool(table.alterations or replaced)  # a view has the comments of its table
        are_others = rebuild or lacks_views or is_altered or has_other_rules
        needs_views = not properties or (not is_part and are_others)
        return replace(table, needs_views=needs_views)

    def _alterations(
        self,
        model: GoldModel,
        storage: BaseRelation,
        properties: Mapping[str, str],
        widened: Sequence[Widened],
    ) -> tuple[str, ...]:
        """The statements that make an existing table what its model says, without a rebuild."""
        if not properties:
            return ()
        schema, cluster_by = (
            self.tables.snapshot(storage).schema(),
            model.options.values["cluster_by"],
        )
        return (
            *widening(str(storage), model, widened),
            *alterations(str(storage), schema.json(), properties, model.stored, cluster_by),
        )

    def _commit_read(self, events: Mark) -> str | None:
        """The identifier of the commit of bronze.messages up to which the change log has read.

        One that an earlier release has not noted is learned from the log of bronze.
        """
        if events.source or events.version is None:
            return events.source
        return identifier_of(folder_of(self.tables.named(change_log.MESSAGES)), events.version)

    def _lacks_views(self, table: GoldTable) -> bool:
        """Whether a run that was killed has not made all views and functions.

        The view of problems is made last of the views; functions are dropped, and made again once
        the table has other columns.
        """
        last = [table.complete] if table.model.is_history and table.has_complete else []
        views = all(map(self.tables.is_known, (table.view, *last, table.problems)))
        return not (
            views and all(self.tables.is_function(each.relation) for each in table.functions)
        )

    def _replaced_views(self, table: GoldTable) -> list[BaseRelation]:
        """The views that another program has written, or a run that noted no texts."""
        views = [view.relation for view in table.views]
        return [
            view
            for view in views
            if not (self.tables.is_known(view) and self.views.is_as_left(view))
        ]

    def _validates_otherwise(self, table: GoldTable) -> bool:
        """Whether its views apply other rules than the model's, by the one made last."""
        digest = table.validated_rows.digest
        return (self.views.view_property(table.problems, RULES) or "") != digest

    def known_at(self, node: Mapping[str, Any]) -> str | None:
        """Return the column of a history for when silver had processed a change; None of others."""
        return KNOWN_AT if gold_kind(node["config"]["materialized"]) == HISTORY else None

    def rows_as_of(self, history: BaseRelation, moment: str, known: str | None) -> str:
        """Return the rows of a history at a moment, in SQL, by what was known at another."""
        then = f"{function_of(history, 'as_known')}({moment}, {known})"
        found: str = sql.rows_as_of(history, moment, None if known is None else then)
        return found

    def _changes(self, last: int | None, read: int | None) -> list[TableChanges] | None:
        """The changes after a version, as runs of silver have left them; read once in a run."""
        if last not in self._kept:
            path = folder_of(self.tables.events)
            kept = change_log.read_kept(self.tables.spark, path) if last is not None else None
            self._kept[last] = kept if kept and kept.bronze_version == last else None
        kept = self._kept[last]
        return kept.changes_since(read) if kept else None

    def _has_reprocessed_changes(
        self, model: GoldModel, read: int | None, last: int | None
    ) -> bool:
        """Whether changes that the table has read were reprocessed since, with another result."""
        versions = read_tables(self.tables.properties(self.tables.events).get(REPROCESSED))
        if read is None or last is None:
            return False
        return any(
            read < version <= last and model.reads_table(SourceTable(*json.loads(names)))
            for names, version in versions.items()
        )

    def query_of_problems(self, relations: Iterable[BaseRelation]) -> str:
        """Return the query of what is wrong with the rows of gold models, which may be none."""
        views = [f"select * from {beside(relation, 'problems')}" for relation in relations]
        return "\nunion all\n".join(views) or sql.no_problem()

    def codes_of_problems(self, *kinds: str) -> str:
        """Return the codes of problems of `values` and of `others`, which are no rules, in SQL."""
        codes = {"values": CODES_OF_VALUES, "others": OTHER_CODES}
        return ", ".join(quoted(code) for kind in kinds for code in codes[kind])

    def run(self, table: GoldTable, context: Context) -> None:
        """Make a gold table and its views where they are missing, and write what is new for it.

        Args:
            context: that in which dbt renders the model.
        """
        execution = Execution(self.tables, self.marks, self.views, context)
        with short_errors():
            if table.model.is_history:
                self.moments.ensure()
            follow(GoldRun(table).steps(), execution.do)
