"""Ask the tables of gold how far they have merged silver, and which rows rules hold back."""

from collections.abc import Iterable
from functools import partial

from pyspark.sql import SparkSession

from cdc_lakehouse.delta.log import tables_in
from cdc_lakehouse.delta.past import read_mark
from cdc_lakehouse.engine.change_log import read_kept
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.report import questions
from cdc_lakehouse.report.gold import Gold, gold_of
from cdc_lakehouse.report.plain import plain
from cdc_lakehouse.runtime.paths import schema_path, warehouse_path
from cdc_lakehouse.runtime.session import relations_in
from cdc_lakehouse.sql import identifier

STORAGE = "gold_storage"


def look_at_gold(spark: SparkSession, models: Iterable[str], processed: int) -> Gold:
    """Return how far gold is.

    Args:
        models: the names of the models that read changes of source tables.
        processed: the commit of bronze.messages up to which silver has processed.
    """
    names = set(models)
    there, beside = (relations_in(spark, schema) for schema in ("gold", STORAGE))
    kept = read_kept(spark, warehouse_path(*EVENTS.split(".")))
    read = {}
    for path in tables_in(schema_path(STORAGE)):
        if path.name not in names & there:  # that of a model that is gone, or of no model
            continue
        commit = read_mark(spark, path, EVENTS).version
        has_all = commit is not None and kept is not None and kept.changes_since(commit) == []
        read[path.name] = processed if has_all else commit
    held = [name for name in sorted(read) if f"{name}_held" in beside]
    came_by = partial(_came_by, spark)
    return gold_of(names, there, read, processed, _held_rows(spark, held), came_by)


def _held_rows(spark: SparkSession, names: list[str]) -> int:
    """Return how many rows the rules of some tables hold back."""
    views = [f"select count(*) as held from {STORAGE}.{identifier(f'{n}_held')}" for n in names]
    if not views:
        return 0
    return sum(row.held for row in spark.sql(" union all ".join(views)).collect())


def _came_by(spark: SparkSession, commit: int) -> float | None:
    (row,) = spark.sql(questions.CAME_BY.format(commit=commit)).collect()
    came: float | None = plain(row.came)
    return came
