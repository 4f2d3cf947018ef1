"""Read an extract of a table with Spark, and write its values as the canonical text of silver."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.delivered import existing
from cdc_lakehouse.sql import identifier

USER, PASSWORD = "LAKEHOUSE_JDBC_USER", "LAKEHOUSE_JDBC_PASSWORD"
KINDS = {
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz"),
    "json": (".json", ".jsonl", ".json.gz", ".jsonl.gz"),
}
# How files are read unless an option of Spark says otherwise: nothing of a text is guessed.
OPTIONS = {
    "parquet": {},
    # With Spark's own null value, an empty text, a text "" would be null, too.
    "csv": {
        **{"header": "true", "multiLine": "true", "escape": '"', "mode": "FAILFAST"},
        "nullValue": "\0",
    },
    "json": {"primitivesAsString": "true", "mode": "FAILFAST"},
}
AS_TEXT = (
    *(T.StringType, T.CharType, T.VarcharType, T.DateType, T.TimestampType, T.TimestampNTZType),
    *(T.IntegralType, T.DecimalType, T.FloatType, T.DoubleType),
)
NESTED = (T.ArrayType, T.MapType, T.StructType)


@dataclass(frozen=True)
class Source:
    """Where an extract is: in files of one kind, or in a database that Spark asks by JDBC.

    `options` are those of Spark's reader.
    """

    paths: Sequence[str] = ()
    url: str = ""
    query: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def read_source(spark: SparkSession, source: Source) -> DataFrame:
    """Return the rows of an extract, each value as its canonical text.

    Raises:
        LakehouseError: there is no such file, files are of two kinds, or a column has no text.
    """
    rows = _from_database(spark, source) if source.url else _from_files(spark, source)
    names = [name.lower() for name in rows.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LakehouseError(f"The extract has two columns named {', '.join(twice)}.")
    return rows.select(*(canonical(f).alias(f.name) for f in rows.schema.fields))


def _from_files(spark: SparkSession, source: Source) -> DataFrame:
    paths = [existing(path) for path in source.paths]
    kinds = {path: _kind_of(path) for path in paths}
    for path, kind in kinds.items():
        if kind is None:
            ends = ", ".join(end for ends in KINDS.values() for end in ends)
            raise LakehouseError(f"{path} is no extract: its name ends with none of {ends}.")
    if len(set(kinds.values())) > 1:
        raise LakehouseError("The files of an extract are of one kind: give only those of one.")
    (kind,) = {kind for kind in kinds.values() if kind is not None}
    reader = spark.read.options(**{**OPTIONS[kind], **source.options}).format(kind)
    rows = reader.load(paths)
    if kind != "json":
        return rows
    # Asked for a text, Spark gives the text of an object or a list as it stands.
    texts = T.StructType([T.StructField(name, T.StringType()) for name in rows.columns])
    return reader.schema(texts).load(paths)


def _kind_of(path: str) -> str | None:
    """Return what a file holds, by its name, or of a folder by the names in it."""
    names = [path]
    if os.path.isdir(path):
        names = [name for name in os.listdir(path) if name[0] not in "._"]
    kinds = {
        next((k for k, ends in KINDS.items() if n.lower().endswith(ends)), None) for n in names
    }
    return kinds.pop() if len(kinds) == 1 else None


def _from_database(spark: SparkSession, source: Source) -> DataFrame:
    given = {"url": source.url, "query": source.query, "fetchsize": "10000", **source.options}
    for name, variable in {"user": USER, "password": PASSWORD}.items():
        if os.environ.get(variable):
            given[name] = os.environ[variable]
    return spark.read.format("jdbc").options(**given).load()


def canonical(column: T.StructField) -> Column:
    """Return the canonical text of a column.

    Raises:
        LakehouseError: its type has none.
    """
    value, kind = F.col(identifier(column.name)), column.dataType
    if isinstance(kind, T.BooleanType):
        return value.cast("int").cast("string")
    if isinstance(kind, T.BinaryType):
        return F.lower(F.hex(value))
    if isinstance(kind, NESTED):
        return F.to_json(value)
    if isinstance(kind, AS_TEXT):
        return value.cast("string")
    raise LakehouseError(
        f"The column {column.name} of the extract is of the type {kind.simpleString()}, which has "
        "no text in silver. Cast it to one that has where the extract is made."
    )
