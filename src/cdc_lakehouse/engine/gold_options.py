"""Tell the options of a gold model from those of dbt and of its adapters, and from typos."""

import dataclasses
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from dbt.adapters.spark.impl import SparkConfig
from dbt.artifacts.resources.v1.model import ModelConfig

# From this likeness on a name is a typo: clusterby, on_delet and tombstone_retension are, but
# liquid_clustered_by and on_table_exists, which other adapters have, are not.
LIKENESS = 0.75


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
