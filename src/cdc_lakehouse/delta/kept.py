"""The tables in which summaries keep their sums of another table.

Kept sums are right as long as rows are only appended to that table. Code that changes or removes
rows empties the kept tables first: a summary that keeps nothing reads everything, and so is always
right.
"""

from pyspark.sql import SparkSession

from cdc_lakehouse.delta.log import last_checksum, last_transactions, tables_in
from cdc_lakehouse.runtime.paths import schema_path, warehouse_path
from cdc_lakehouse.sql import identifier
from cdc_lakehouse.storage.files import Location

SUFFIX = "_kept"  # of the name of a summary
SCHEMA = "silver"


def kept_tables() -> list[str]:
    """Return the names, with their schema, of the tables that summaries of silver keep."""
    silver = schema_path(SCHEMA)
    names = (path.name for path in tables_in(silver))
    return [f"{SCHEMA}.{name}" for name in names if name.endswith(SUFFIX)]


def keeps_nothing(path: Location) -> bool:
    """Tell whether a table is known to have no rows, from its latest checksum."""
    return (last_checksum(path) or {}).get("numFiles") == 0


def forget(spark: SparkSession, source: str) -> None:
    """Empty what summaries keep of a table, before its rows are changed or removed.

    Args:
        source: its name with its schema.
    """
    for name in kept_tables():
        path = warehouse_path(*name.split("."))
        marks = last_transactions(path)
        if (marks is None or source in marks) and not keeps_nothing(path):
            spark.sql(f"delete from delta.{identifier(str(path))}")
