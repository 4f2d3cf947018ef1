"""The materializations of gold models, and other names for them and for one option.

SCD type 1 and 2 are the field's terms; AUTO CDC of Databricks says STORED AS SCD TYPE 2 and TRACK
HISTORY ON. A table is the same under either name, so changing the name rebuilds nothing.
"""

from collections.abc import Mapping
from typing import Any

CURRENT_STATE, HISTORY = GOLD = ("current_state", "history")
OTHER_NAMES = {"scd1": CURRENT_STATE, "scd2": HISTORY}
OTHER_NAMES_OF_OPTIONS = {"track_columns": "track_history_columns"}


def gold_kind(materialized: object) -> str | None:
    """Return which materialization of gold models a name is of; None if it is of none."""
    kind = OTHER_NAMES.get(str(materialized), str(materialized))
    return kind if kind in GOLD else None


def kind_of(model: Mapping[str, Any]) -> str:
    """Return the materialization of a gold model, as dbt's manifest has it.

    Raises:
        KeyError: it is no gold model.
    """
    materialized = model["config"]["materialized"]
    kind = gold_kind(materialized)
    if kind is None:
        raise KeyError(materialized)
    return kind


def name_given(config: Any, option: str) -> str:
    """Return the name under which a model's config has an option; ours if it has none.

    Args:
        config: of the model; it has `get`.
        option: our name of it.
    """
    other = OTHER_NAMES_OF_OPTIONS.get(option, option)
    return other if config.get(option) is None and config.get(other) is not None else option


def given_twice(config: Any) -> tuple[str, str] | None:
    """Return the two names of an option that a model's config has under both; None if of none."""
    for names in OTHER_NAMES_OF_OPTIONS.items():
        if all(config.get(name) is not None for name in names):
            return names
    return None
