"""The data subjects of an erasure."""

import json
from collections.abc import Sequence
from itertools import product

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.read_models import ReadModel, names_of_columns, readers
from cdc_lakehouse.gold.source_tables import SourceTable, find_table
from cdc_lakehouse.operate.erase.keys import Key, key_digest
from cdc_lakehouse.protection import LAYERS, Protection
from cdc_lakehouse.sql import quoted


class Subjects:
    """The data subjects of an erasure: a source table, and keys of its rows.

    `keys` are as the source has them; in silver and gold columns of them may be hashed: `stored`
    has both, for a table whose column is protected since yesterday may have been written before.
    `names` are all that each column of the key has in images, as models of the table tell them.
    """

    def __init__(
        self,
        spark: SparkSession,
        table: str,
        given: Sequence[dict[str, str]],
        protection: Protection,
        models: Sequence[ReadModel],
    ):
        seen = spark.sql("""
            select database_name, schema_name, table_name, collect_set(key_columns) as seen_keys
            from silver.events
            where kind = 'row_change'
            group by database_name, schema_name, table_name
        """).collect()
        tables = [
            SourceTable(r.database_name, r.schema_name, r.table_name, (), {}, None) for r in seen
        ]
        self.table = find_table(tables, table)
        self.columns = self._checked_columns(seen[tables.index(self.table)].seen_keys, given)
        of_table = readers(models, self.table.names)
        self.names = names_of_columns(of_table, self.columns)
        self.keys: set[Key] = {tuple(subject[c] for c in self.columns) for subject in given}
        self.stored = self.keys | self._pseudonyms(spark, protection)
        self.where = (
            f"database_name = {quoted(self.table.database)} "
            f"and table_name = {quoted(self.table.name)} and schema_name <=> "
            + (quoted(self.table.schema) if self.table.schema is not None else "null")
        )

    def _checked_columns(self, keys: list[list[str]], given: Sequence[dict[str, str]]) -> list[str]:
        names = list(given[0])
        if not keys:
            return names
        if not any(sorted(names) == sorted(key) for key in keys):
            wanted = " or ".join(", ".join(key) for key in keys)
            raise LakehouseError(
                f"The key of {self.table} is {wanted}, not {', '.join(names)}. Give each of its "
                "columns, --key COLUMN=VALUE, as the source names it."
            )
        return names

    def _pseudonyms(self, spark: SparkSession, protection: Protection) -> set[Key]:
        """Return the keys with their protected columns hashed, in no statement; none if none is."""
        names = (self.table.database, self.table.schema, self.table.name)
        lines = [line for line in protection.lines if line.is_of_table(*names)]
        if not lines:
            return set()
        return {
            key
            for columns in product(*self.names)
            for layer in LAYERS
            for key in self._hashed(spark, protection, columns, layer)
        }

    def _hashed(
        self, spark: SparkSession, protection: Protection, columns: Sequence[str], layer: str
    ) -> set[Key]:
        """Return the keys as images have them in a layer under some names of their columns."""
        names = (self.table.database, self.table.schema, self.table.name)
        pairs = [list(zip(columns, key, strict=True)) for key in sorted(self.keys)]
        rows = spark.createDataFrame([(dict(each),) for each in pairs], "key map<string, string>")
        images = F.call_function(
            "protected_images",
            F.lit(protection.rules()),
            F.lit(layer),
            F.lit(protection.key_number),
            F.array(*map(F.lit, names)),
            F.array(*map(F.lit, columns)),
            F.col("key"),
            F.lit(None).cast("map<string, string>"),
            F.lit(None).cast("map<string, string>"),
        )
        hashed = rows.select(images["before"].alias("key")).collect()
        return {tuple(row.key[column] for column in columns) for row in hashed}

    def text(self) -> str:
        """Return the subjects in words, without their keys."""
        return "the key" if len(self.keys) == 1 else f"the {len(self.keys):,} keys"

    def selection(self) -> str:
        """Return what the audit says of the subjects: their table, and digests of their keys."""
        digests = sorted(key_digest(self.table, self.columns, key) for key in self.keys)
        named = {"table": str(self.table), "key_columns": self.columns, "blake2b": digests}
        return json.dumps(named)
