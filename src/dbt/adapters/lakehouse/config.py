"""The options that a model of this adapter may have besides those of dbt-spark."""

from dataclasses import dataclass
from typing import Any

from dbt.adapters.spark.impl import SparkConfig


@dataclass
class LakehouseConfig(SparkConfig):
    """The options of a gold model; `cdc_lakehouse.engine.gold_options` explains and checks them.

    `keeps_after_bytes` is of a summary: after how many bytes of new files it keeps what it shows.
    `follows` is of a mart: the columns by which its rows depend on each gold table.
    """

    on_truncate: str | None = None
    on_drop: str | None = None
    on_delete: str | None = None
    tombstone_retention: str | None = None
    track_columns: list[str] | None = None
    track_history_columns: list[str] | None = None
    cluster_by: list[str] | None = None
    plain_table: bool | None = None
    change_feed: bool | None = None
    type_widening: bool | None = None
    on_violation: str | dict[str, str] | None = None
    on_shared_key: str | None = None
    keeps_after_bytes: int | None = None
    follows: dict[str, Any] | None = None
