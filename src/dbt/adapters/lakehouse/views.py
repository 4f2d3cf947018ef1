"""Decide which views a run makes again, also those that another program has replaced."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.delta.statements import settings
from cdc_lakehouse.engine.fixed_names import refuse_other_names
from cdc_lakehouse.engine.validated_rows import RULES
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.package import PACKAGE, takes_silver
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.tables import Tables
from dbt.include.lakehouse import PACKAGE_PATH

# The property of a view that tells from what it was made; views of gold have none.
DEFINITION = "cdc_lakehouse.definition"
# The property of a view that names the text with which a run has left it.
TEXT = "cdc_lakehouse.text"
REPLACED = "{} is made again: it is not as a run of this project has left it"
# Views that an earlier release has made, and none makes now.
RETIRED = ("silver.delivered_changes",)

logger = AdapterLogger("Lakehouse")


class Views:
    """The views that runs make."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._models: set[tuple[str, str]] | None = None  # all of the project

    def know_models(self, models: Iterable[Any]) -> None:
        """Take the names of all models, once dbt has read the project.

        Raises:
            DbtRuntimeError: the project gives the tables other names than the engine has.
        """
        models, config = list(models), self.tables.adapter.config
        try:
            refuse_other_names(models, config.target_name, config.credentials.schema)
        except LakehouseError as error:
            raise DbtRuntimeError(str(error)) from None
        self._models = {(model.schema, model.identifier) for model in models}

    def is_of_model(self, view: BaseRelation) -> bool:
        """Tell whether a model of the project has the name of a view."""
        return (view.schema, view.identifier) in (self._models or set())

    def view_property(self, relation: BaseRelation, name: str) -> str | None:
        """A property of a view, or None if it has no such one."""
        return self._properties_of_view(relation)[0].get(name)

    def _properties_of_view(self, relation: BaseRelation) -> tuple[Mapping[str, str], str]:
        """Return those of this project's properties that a view has, and a name for its text."""
        with short_errors():
            found = self.tables.catalog.getTable(relation.schema, relation.identifier)
        text, all_properties = found.viewText(), found.properties()
        kept = {}
        for name in (DEFINITION, TEXT, RULES):
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

    def note_text(self, relation: BaseRelation) -> None:
        """Let a view that was just made note its text, as the metastore has it."""
        _, digest = self._properties_of_view(relation)
        clause = settings({TEXT: digest})
        self.tables.adapter.execute(f"alter view {relation} set {clause}")

    def drop_retired(self) -> None:
        """Drop the views that an earlier release made; never one that somebody else has made."""
        for name in RETIRED:
            view = self.tables.named(name)
            is_wanted = self._models is None or (view.schema, view.identifier) in self._models
            if is_wanted or not self.tables.is_known(view):
                continue
            if self.view_property(view, DEFINITION) is not None:
                self.tables.adapter.execute(f"drop view {view}")
                logger.info(f"{name} is dropped: an earlier release made it, and nothing reads it")

    def definition_of_view(self, sql: str) -> str:
        """Return a name for what decides what a view of this project is: its SQL and all files.

        The columns of a view are those that the models below it had when it was made.
        """
        return hashlib.md5((sql + self._digest_of_project).encode()).hexdigest()

    @cached_property
    def _digest_of_project(self) -> str:
        config = self.tables.adapter.config
        root = Path(config.project_root)
        folders = [root / name for name in (*config.model_paths, *config.macro_paths)]
        folders.append(Path(PACKAGE_PATH) / "macros")
        if takes_silver(root):
            folders += [PACKAGE / "models", PACKAGE / "macros"]
        files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        variables = [config.vars.to_dict(), config.cli_vars]
        digest = hashlib.md5(json.dumps(variables, sort_keys=True, default=str).encode())
        for path in [root / "dbt_project.yml", *files]:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def is_to_be_made(self, existing: BaseRelation | None, sql: str, full_refresh: bool) -> bool:
        """Tell whether a view is made: it is missing, was made of something else, or replaced.

        Args:
            existing: the relation of its name, if there is one.
            sql: its query.
            full_refresh: whether a person asks to make it again.
        """
        if existing is None or not existing.is_view:
            return True
        if self.tables.reads_a_part_only(sql):
            return False
        if self.is_replaced(existing):
            return True
        is_same = self.view_property(existing, DEFINITION) == self.definition_of_view(sql)
        return full_refresh or not is_same
