"""Views as a run has left them: another program may have replaced one, which no run would see."""

import hashlib
from collections.abc import Mapping
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterRequiredConfig
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.delta.statements import settings
from cdc_lakehouse.engine.fixed_names import refuse_other_names
from cdc_lakehouse.errors import LakehouseError
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.tables import TablesAdapter

# The property of a view that tells from what it was made; views of gold have none.
DEFINITION = "cdc_lakehouse.definition"
# The property of a view that names the text with which a run has left it.
TEXT = "cdc_lakehouse.text"
REPLACED = "{} is made again: it is not as a run of this project has left it"
# Views that an earlier release has made, and none makes now.
RETIRED = ("silver.delivered_changes",)

logger = AdapterLogger("Lakehouse")


class ViewsAdapter(TablesAdapter):
    """The views that runs make."""

    # Further properties that the views of a kind of model have.
    NOTED_IN_VIEWS: tuple[str, ...] = ()

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._models: set[tuple[str, str]] | None = None  # all of the project

    def set_macro_resolver(self, macro_resolver: Any) -> None:
        """Look at the names of all nodes, once dbt has read the project, and do as dbt does.

        Args:
            macro_resolver: the manifest; a caller of macros alone may have one without nodes.

        Raises:
            DbtRuntimeError: the project gives the tables other names than the engine has.
        """
        super().set_macro_resolver(macro_resolver)
        nodes = getattr(macro_resolver, "nodes", {}).values()
        models = [node for node in nodes if node.resource_type == "model"]
        try:
            refuse_other_names(models, self.config.target_name, self.config.credentials.schema)
        except LakehouseError as error:
            raise DbtRuntimeError(str(error)) from None
        self._models = {(model.schema, model.identifier) for model in models}

    def view_property(self, relation: BaseRelation, name: str) -> str | None:
        """A property of a view, or None if it has no such one."""
        return self._properties_of_view(relation)[0].get(name)

    def _properties_of_view(self, relation: BaseRelation) -> tuple[Mapping[str, str], str]:
        """Return those of this project's properties that a view has, and a name for its text."""
        with short_errors():
            found = self.catalog.getTable(relation.schema, relation.identifier)
        text, all_properties = found.viewText(), found.properties()
        kept = {}
        for name in (DEFINITION, TEXT, *self.NOTED_IN_VIEWS):
            value = all_properties.get(name)
            if value.isDefined():
                kept[name] = value.get()
        shown = text.get() if text.isDefined() else ""
        return kept, hashlib.md5(shown.encode()).hexdigest()

    def is_as_left(self, relation: BaseRelation) -> bool:
        """Tell whether a view has the text with which a run has left it; it has to be there."""
        properties, digest = self._properties_of_view(relation)
        return properties.get(TEXT) == digest

    def is_replaced(self, relation: BaseRelation) -> bool:
        """Tell, and say, whether another program has written a view of a model.

        A view from before runs noted their texts was not.
        """
        properties, digest = self._properties_of_view(relation)
        others = DEFINITION not in properties or properties.get(TEXT, digest) != digest
        if others:
            logger.info(REPLACED.format(relation))
        return others

    @available.parse(lambda *args, **kwargs: None)
    def note_text(self, relation: BaseRelation) -> None:
        """Let a view that was just made note its text, as the metastore has it."""
        _, digest = self._properties_of_view(relation)
        clause = settings({TEXT: digest})
        self.execute(f"alter view {relation} set {clause}")

    def drop_retired_views(self) -> None:
        """Drop the views that an earlier release made; never one that somebody else has made."""
        for name in RETIRED:
            view = self.named(name)
            is_wanted = self._models is None or (view.schema, view.identifier) in self._models
            if is_wanted or not self.is_known(view):
                continue
            if self.view_property(view, DEFINITION) is not None:
                self.execute(f"drop view {view}")
                logger.info(f"{name} is dropped: an earlier release made it, and nothing reads it")
