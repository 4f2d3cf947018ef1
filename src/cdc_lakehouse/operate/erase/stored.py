"""Find and remove rows of data subjects in the tables that the metastore knows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

from cdc_lakehouse.runtime.jvm import external_catalog
from cdc_lakehouse.sql import identifier, quoted

# The names under which tables keep the identity of a row of silver.events.
IDENTITIES = tuple(
    tuple(f"{prefix}{name}" for name in ("topic", "partition", "offset", "row_number"))
    for prefix in ("_", "")
)


def tables_of(spark: SparkSession) -> Iterator[str]:
    """Yield schema.table of all tables that the metastore knows, views left out."""
    for (schema,) in spark.sql("show databases").collect():
        views = {row.viewName for row in spark.sql(f"show views in {identifier(schema)}").collect()}
        for row in spark.sql(f"show tables in {identifier(schema)}").collect():
            if not row.isTemporary and row.tableName not in views:
                yield f"{schema}.{row.tableName}"


def named(table: str) -> str:
    """Return a table's name as SQL takes it."""
    schema, _, name = table.partition(".")
    return f"{identifier(schema)}.{identifier(name)}"


def is_delta(spark: SparkSession, table: str) -> bool:
    """Tell whether a table is one of Delta."""
    schema, _, name = table.partition(".")
    catalog = external_catalog(spark)
    provider = catalog.getTable(schema, name).provider()
    return bool(provider.isDefined() and provider.get().lower() == "delta")


@dataclass
class Finder:
    """Finds the rows of the subjects in tables without naming a key, which must be in no log.

    The rows that are removed from silver are in the temporary view `removed_rows`. `hashes` stand
    for the keys of gold models, behind `salt`, so that the record of an erasure names no subject.
    """

    spark: SparkSession
    hashes: list[str]
    salt: str

    def marked(self, table: str, identity: list[str], key: list[str], of: str) -> DataFrame:
        """Return a table's rows, each with whether it is one of the subjects': `_is_found`.

        Args:
            identity: the columns that say from which row of silver a row comes, or none.
            key: the columns that hold the key of the gold model `of`, or none.

        It is if its identity or its key says so: of a deleted row dbt keeps little in a snapshot.
        """
        frame = self.spark.table(named(table))
        is_found = F.expr(self.condition(key, of))
        if not identity:
            return frame.withColumn("_is_found", is_found)
        removed = self.spark.table("removed_rows").distinct()
        renamed = [f"_found_{name}" for name in removed.columns]
        removed = F.broadcast(removed.toDF(*renamed)).withColumn("_found_row", F.lit(True))
        pairs = zip(identity, renamed, strict=True)
        same = reduce(and_, [frame[identifier(own)] == removed[name] for own, name in pairs])
        joined = frame.join(removed, same, "left")
        is_found |= F.col("_found_row").isNotNull()
        return joined.withColumn("_is_found", is_found).drop(*renamed, "_found_row")

    def remove(self, table: str, identity: list[str], key: list[str], of: str) -> None:
        """Delete the rows of the subjects from a Delta table; see `marked`."""
        if identity:
            same = " and ".join(
                f"own.{identifier(column)} = removed.{name}"
                for column, name in zip(identity, IDENTITIES[1], strict=True)
            )
            self.spark.sql(
                f"merge into {named(table)} as own using (select distinct * from removed_rows) as "
                f"removed on {same} when matched then delete"
            )
        if key and self.hashes:
            self.spark.sql(f"delete from {named(table)} where {self.condition(key, of)}")

    def condition(self, key: list[str], of: str) -> str:
        """Return the condition that a row has the key of a subject in the columns `key`."""
        if not key or not self.hashes:
            return "false"
        hashes = ", ".join(f"'{each}'" for each in self.hashes)
        return f"coalesce({key_hash(key, self.salt + of)} in ({hashes}), false)"


def key_hash(columns: Sequence[str], salt: str) -> str:
    """Return the expression of what stands for the key in `columns` where no key is to be named."""
    texts = ", ".join(f"cast({identifier(column)} as string)" for column in columns)
    return f"sha2(concat({quoted(salt)}, to_json(array({texts}))), 256)"


def text_of(frame: DataFrame) -> Column:
    """Return all that a row of `frame` holds as one text, a character a byte."""
    parts = []
    for field in frame.schema:
        column = F.col(identifier(field.name))
        if isinstance(field.dataType, BinaryType):
            parts.append(F.decode(column, "ISO-8859-1"))
            continue
        is_nested = isinstance(field.dataType, ArrayType | MapType | StructType | VariantType)
        text = F.to_json(column) if is_nested else column.cast("string")
        parts.append(F.decode(F.encode(text, "UTF-8"), "ISO-8859-1"))
    return F.concat_ws("\n", *parts)


def identity_of(frame: DataFrame) -> list[str]:
    """Return the columns in which a table keeps from which row of silver its own come, or none."""
    types = dict(frame.dtypes)
    for names in IDENTITIES:
        if [types.get(name) for name in names] == ["string", "int", "bigint", "int"]:
            return list(names)
    return []
