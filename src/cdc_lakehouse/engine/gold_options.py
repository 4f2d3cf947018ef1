"""Read the options of a gold model, and tell them from options of dbt and from typos."""

import dataclasses
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from dbt.adapters.spark.impl import SparkConfig
from dbt.artifacts.resources.v1.model import ModelConfig

from cdc_lakehouse.engine.columns import derived_expression
from cdc_lakehouse.engine.materializations import (
    CURRENT_STATE,
    HISTORY,
    OTHER_NAMES_OF_OPTIONS,
    given_twice,
    kind_of,
    name_given,
)
from cdc_lakehouse.engine.rules import POLICIES
from cdc_lakehouse.errors import LakehouseError

# From this likeness on a name is a typo: clusterby, on_delet and tombstone_retension are, but
# liquid_clustered_by and on_table_exists, which other adapters have, are not.
LIKENESS = 0.75

BOTH: dict[str, Any] = {"on_truncate": "apply", "on_drop": "keep", "cluster_by": []}
DEFAULTS: dict[str, dict[str, Any]] = {
    CURRENT_STATE: BOTH | {"on_delete": "hide", "tombstone_retention": None},
    HISTORY: BOTH | {"track_columns": []},
}
CHOICES = {
    "on_truncate": ["apply", "ignore"],
    "on_drop": ["keep", "apply"],
    "on_delete": ["hide", "flag"],
}
# Options that decide what is kept beside the table, or what of it is shown, not what it holds.
BESIDE: dict[str, Any] = {
    "plain_table": False,
    "change_feed": False,
    "type_widening": False,
    "on_violation": "keep",
    "on_shared_key": None,
}
# The columns that a change has beside those of its row.
FEED_COLUMNS = {"_change_type", "_commit_version", "_commit_timestamp", "_before", "_feed"}
RETENTION = r"[0-9]+ (hour|day|week|month|year)s?"


@dataclass(frozen=True)
class GoldOptions:
    """The options of a gold model, with their defaults.

    Attributes:
        values: those that decide what the table holds, by name:
            on_truncate: `apply` removes the rows that are older than a TRUNCATE; `ignore` keeps
                them and lists it in gold_problems.
            on_drop: `keep` leaves the rows of a table that was dropped, or replaced by a new one;
                `apply` removes them as a TRUNCATE does.
            on_delete: `hide` shows active rows only; `flag` keeps a deleted row's last content,
                with `_is_deleted`. Only current_state.
            tombstone_retention: how long deleted keys are remembered, for example `90 days`; a
                change that comes later and is older than the delete brings the row back. Default:
                for ever. Only current_state.
            track_columns: only a change of these begins a new version; the others show their last
                value in it. Only history. `track_history_columns` is the same.
            cluster_by: up to four columns by which Delta arranges the table's files.
        plain_table: keep gold_plain.<name> too, the rows that the model shows as a table that every
            Delta reader takes.
        change_feed: keep it with Delta's change data feed, which `changes_of` reads.
        type_widening: let a wider type of a column change the table in place; it has then the
            reader feature typeWidening.
        on_violation: what becomes of a row that breaks a rule, for all rules of the model or by
            their names: `keep` it and say so in `_problems`; make the rule's column `null`, too;
            `hold` the row back until a change mends it.
        on_shared_key: what becomes of a key that rows of several source tables have: `refuse` ends
            the run, `merge` lets the last change win. None is `refuse` where the model names its
            tables by a pattern.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    plain_table: bool = False
    change_feed: bool = False
    type_widening: bool = False
    on_violation: str | Mapping[str, str] = "keep"
    on_shared_key: str | None = None

    @property
    def keeps_plain(self) -> bool:
        """Whether gold_plain.<name> is kept; the change feed is one of that table."""
        return self.plain_table or self.change_feed

    @property
    def removing(self) -> list[str]:
        """The operations that remove all older rows of a source table.

        A full extract always does: what it does not have is not there.
        """
        truncate = ["truncate"] if self.values["on_truncate"] == "apply" else []
        return [*truncate, *(["drop"] if self.values["on_drop"] == "apply" else []), "extract"]

    @property
    def applies_truncates(self) -> bool:
        """Whether a TRUNCATE removes rows."""
        return "truncate" in self.removing

    @property
    def applies_drops(self) -> bool:
        """Whether a DROP removes rows."""
        return "drop" in self.removing

    @property
    def shows_deleted(self) -> bool:
        """Whether a deleted row is kept and shown."""
        return self.values.get("on_delete") == "flag"

    @property
    def retention(self) -> str | None:
        """How long deleted keys are remembered; None is for ever."""
        return self.values.get("tombstone_retention")


def values_of(config: Any, kind: str) -> dict[str, Any]:
    """Return the options that decide what a table holds; where a model gives none, the defaults.

    Args:
        config: of the model; it has `get`.
        kind: its materialization, `current_state` or `history`.
    """
    given = {name: config.get(name_given(config, name)) for name in DEFAULTS[kind]}
    return DEFAULTS[kind] | {name: value for name, value in given.items() if value is not None}


def read_options(
    model: Mapping[str, Any], key: Collection[str], own: Iterable[str], project: Mapping[str, Any]
) -> GoldOptions:
    """Return the options of a gold model.

    Other options of dbt, of which a project may set some for all models, are taken and have no
    effect here.

    Args:
        model: the model as dbt has it.
        key: the columns of its key.
        own, project: as of `refused_option`.

    Raises:
        LakehouseError: one is misspelt, is one of the other materialization, or has a wrong value.
    """
    config = model["config"]
    kind = kind_of(model)
    names = [*DEFAULTS[kind], *BESIDE]
    others = [OTHER_NAMES_OF_OPTIONS[name] for name in names if name in OTHER_NAMES_OF_OPTIONS]
    given = model.get("unrendered_config") or {}
    refused = refused_option(given, [*names, *others], own, project)
    if refused:
        name, meant = refused
        did_you_mean = f"did you mean {meant}? Its" if meant else "its"
        raise _refusal(
            model,
            name,
            f"there is no such option of {config['materialized']}",
            f"{did_you_mean} options are {', '.join(names)}",
        )
    if both := given_twice(config):
        raise _refusal(model, both[1], f"{both[0]} is given, too", "they are one option, keep one")
    values = values_of(config, kind)
    beside = {
        name: default if config.get(name) is None else config[name]
        for name, default in BESIDE.items()
    }
    for name, found, wanted in _wrong_values(values, beside, model, key):
        raise _refusal(model, name_given(config, name), found, wanted)
    return GoldOptions(values, **beside)


def _wrong_values(
    values: Mapping[str, Any],
    beside: Mapping[str, Any],
    model: Mapping[str, Any],
    key: Collection[str],
) -> Iterable[tuple[str, str, str]]:
    """The options with a wrong value: the name, what was found and what is wanted."""
    for name, choices in CHOICES.items():
        if name in values and values[name] not in choices:
            yield name, _found(values[name]), f"it is one of {', '.join(choices)}"
    for name in ("plain_table", "change_feed", "type_widening"):
        if beside[name] not in (True, False):
            yield name, _found(beside[name]), "it is true or false"
    if beside["on_shared_key"] not in (None, "refuse", "merge"):
        yield "on_shared_key", _found(beside["on_shared_key"]), "it is one of refuse, merge"
    policies = beside["on_violation"]
    for policy in policies.values() if isinstance(policies, Mapping) else [policies]:
        if policy not in POLICIES:
            wanted = f"it is one of {', '.join(POLICIES)}, or gives one to rules by their names"
            yield "on_violation", _found(policy), wanted
    reserved = FEED_COLUMNS & {column.lower() for column in model["columns"]}
    if beside["change_feed"] and reserved:
        found = f"the model has the column {min(reserved)}"
        yield "change_feed", found, "the feed has a column of this name; give it another"
    retention = values.get("tombstone_retention")
    if retention is not None and not re.fullmatch(RETENTION, str(retention)):
        wanted = "it is a number and a unit, such as 90 days"
        yield "tombstone_retention", _found(retention), wanted
    columns = list(model["columns"])
    for name in ("cluster_by", "track_columns"):
        if name in values and not isinstance(values[name], list):
            yield name, _found(values[name]), "it is a list of columns"
            continue
        for column in values.get(name, []):
            if column not in columns:
                yield name, _found(column), f"the columns of its YAML are {', '.join(columns)}"
            elif derived_expression(model["columns"][column]) is not None:
                found = f"{column} is derived, and not stored"
                yield name, found, "name the columns that it is made of"
    for column in values.get("track_columns", []):
        if column in key:
            found = f"{column} is of the key, which never changes within a row"
            yield "track_columns", found, "name other columns"


def _found(value: Any) -> str:
    return f"found {json.dumps(value)}"


def _refusal(model: Mapping[str, Any], option: str, found: str, wanted: str) -> LakehouseError:
    return LakehouseError(f"{model['name']}: option {option}: {found}; {wanted}.")


def names_of_dbt() -> set[str]:
    """Return the options that every dbt model may have with dbt-spark, in each spelling."""
    fields = [*dataclasses.fields(ModelConfig), *dataclasses.fields(SparkConfig)]
    aliases = {field.metadata.get("alias", field.name) for field in fields}
    return {field.name for field in fields} | aliases


def refused_option(
    given: Iterable[str], options: Iterable[str], own: Iterable[str], project: Mapping[str, Any]
) -> tuple[str, str | None] | None:
    """Return the first option that a gold model must not have, and the one that it looks like.

    A name that neither is ours nor resembles one of ours is another tool's, and has no effect.

    Args:
        given: the names that the model's config has, from all of its places.
        options: those that its materialization knows.
        own: those that any gold model can have.
        project: `models` of dbt_project.yml. What is set there is meant for many models: a name of
            ours may be there though this model's materialization does not know it.

    Returns:
        None if there is no such option; no likeness if the name is of another materialization.
    """
    options, own, of_dbt = set(options), set(own), names_of_dbt()
    by_plain_name = {_plain(name): name for name in sorted(own)}
    for name in given:
        if name in options or name in of_dbt:
            continue
        if name in own:
            if not _is_set(name, project):
                return name, None
            continue
        alike = get_close_matches(_plain(name), by_plain_name, n=1, cutoff=LIKENESS)
        if alike:
            return name, by_plain_name[alike[0]]
    return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").lstrip("+")


def _is_set(name: str, tree: Mapping[str, Any]) -> bool:
    """Tell whether any folder of the tree sets the option."""
    return any(
        key.lstrip("+") == name or (isinstance(value, Mapping) and _is_set(name, value))
        for key, value in tree.items()
    )
