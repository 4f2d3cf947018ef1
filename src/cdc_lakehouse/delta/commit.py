"""The settings with which one statement writes a table and commits how far it has read its source.

The position is a transaction identifier of Delta, so that it commits together with the rows.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from cdc_lakehouse.delta.high_water_mark import mark_of
from cdc_lakehouse.delta.past import note_of

POSITION = ("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")
# A text of ours that a commit keeps.
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
ROW_BY_ROW = {"spark.sql.parquet.enableVectorizedReader": "false"}
MERGE_SOURCE = "spark.databricks.delta.merge.materializeSource"


def settings_of_commit(
    source: str,
    version: int,
    mark: int | None,
    rebuild: bool = False,
    row_by_row: bool = False,
    is_staged: bool = False,
    commit: str | None = None,
) -> dict[str, str]:
    """Return the settings of the statement that writes what `source` has up to `version`.

    Delta skips a write whose identifier it has seen and fails the second of two at once, so that
    no window is ever written twice.

    Args:
        mark: the identifier that the table has of the source; None if it has read nothing.
        rebuild: whether the table gets other rows, and may read the same again.
        row_by_row: hold one row of a file in memory. Thousands at a time are read faster, unless
            they are messages: those may fill the memory.
        is_staged: whether a MERGE can read its source as it is; Delta would keep it once more.
        commit: the identifier of that commit of the source, which is noted beside its number.
    """
    identifier = mark_of(version, mark, rebuild)
    values = settings_of_transaction(source, identifier, row_by_row=row_by_row, is_staged=is_staged)
    if commit:
        values[USER_METADATA] = note_of({source: (identifier, commit)})
    return values


def settings_of_transaction(
    name: str, identifier: int, row_by_row: bool = False, is_staged: bool = False
) -> dict[str, str]:
    """Return the settings of a statement that commits an identifier under a name as it is."""
    values = dict(zip(POSITION, (name, str(identifier)), strict=True))
    if row_by_row:
        values |= ROW_BY_ROW
    if is_staged:
        values[MERGE_SOURCE] = "none"
    return values


@contextmanager
def set_for_one_statement(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to what runs inside, and give back the earlier ones afterwards."""
    before = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.unset(name) if earlier is None else spark.conf.set(name, earlier)
