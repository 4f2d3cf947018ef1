"""What an erasure does about the tables that are not its own: users' models, snapshots, strangers.

The metastore says which tables there are, the project what makes them. What is made anew from
silver needs nothing else. A table that keeps from which message a row comes, or a snapshot of a
gold table with its key, is cleaned row by row. All others are named.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

from cdc_lakehouse.engine import plain_table
from cdc_lakehouse.sql import identifier, quoted

GOLD = ("current_state", "history")
# What dbt makes without copying rows; silver.events is edited, not built anew.
UNCOPIED = ("view", "ephemeral", "change_log")
# The names under which tables keep the identity of a row of silver.events.
IDENTITIES = tuple(
    tuple(f"{prefix}{name}" for name in ("topic", "partition", "offset", "row_number"))
    for prefix in ("_", "")
)


@dataclass(frozen=True)
class Maker:
    """What of the project makes a table."""

    kind: str  # gold, model, snapshot, test or seed
    name: str
    table: str
    is_kept: bool = False  # a model that is not to be built anew
    of: str | None = None  # the gold table of which a snapshot keeps whole rows

    def remedy(self) -> str:
        """Return what a person can do about rows of the table, as the end of a sentence."""
        if self.kind == "snapshot":
            return f"delete the rows that are of the subject: the snapshot {self.name} keeps them"
        if self.kind == "test":
            return f"run `dbt test -s {self.name} --store-failures`, which replaces it"
        if self.is_kept:
            return (
                f"delete the rows that are of the subject: the model {self.name} says "
                "full_refresh: false, so it is not built anew"
            )
        return f"run `dbt run --full-refresh -s {self.name}`"


PRIMARY_KEY = "primary_key"
UNKNOWN_REMEDY = (
    "no model of this project makes it: build it anew where it is made, or delete the rows"
)


class Project:
    """What the dbt project makes of the messages, read from its manifest."""

    def __init__(self, manifest):
        manifest.build_parent_and_child_maps()
        self.children, self.parents = manifest.child_map, manifest.parent_map
        self.nodes = manifest.nodes
        self.sources = [s.unique_id for s in manifest.sources.values() if s.schema == "bronze"]

    def makers(self, is_fed: Callable[[str], bool]) -> list[Maker]:
        """Return what makes tables of the messages.

        Args:
            is_fed: whether a gold model, by its name, takes rows of the subjects; what is made of
                the others alone holds nothing of them.
        """
        found, seen, waiting = [], set(self.sources), list(self.sources)
        while waiting:
            for child in self.children.get(waiting.pop(), []):
                if child in seen or child not in self.nodes:
                    continue
                seen.add(child)
                makers = self._makers(self.nodes[child])
                if any(m.kind == "gold" and not is_fed(m.name) for m in makers):
                    continue
                waiting.append(child)
                found += makers
        return sorted(found, key=lambda maker: maker.name)

    def gold(self) -> list:
        """Return the nodes of all gold models that are made of the messages."""
        names = {maker.name for maker in self.makers(lambda name: True) if maker.kind == "gold"}
        return [n for n in self.nodes.values() if n.name in names and _kind(n) == "gold"]

    def key_of(self, name: str) -> list[str]:
        """Return the columns of the key of a gold model, as its YAML says."""
        (node,) = (node for node in self.gold() if node.name == name)
        key = [c for given in node.constraints if given.type == PRIMARY_KEY for c in given.columns]
        for column in node.columns.values():
            if any(given.type == PRIMARY_KEY for given in column.constraints):
                key.append(column.name)
        return key

    def known_tables(self) -> set[str]:
        """Return the tables that the project makes, whatever of."""
        return {table for node in self.nodes.values() if _kind(node) for table in tables_made(node)}

    def seeds(self) -> dict[str, str]:
        """Return the files of the seeds by their tables."""
        nodes = (node for node in self.nodes.values() if _kind(node) == "seed")
        return {table_of(node): node.original_file_path for node in nodes}

    def _makers(self, node) -> list[Maker]:
        kind = _kind(node)
        if kind in (None, "seed"):
            return []
        is_kept = kind == "model" and node.config.full_refresh is False
        whole_rows_of = self._whole_rows_of(node)
        return [Maker(kind, node.name, t, is_kept, whole_rows_of) for t in tables_made(node)]

    def _whole_rows_of(self, node) -> str | None:
        """Return the name of the gold model whose rows a snapshot keeps as they are, if any."""
        if _kind(node) != "snapshot":
            return None
        parents = [self.nodes.get(name) for name in self.parents.get(node.unique_id, [])]
        if len(parents) != 1 or parents[0] is None or _kind(parents[0]) != "gold":
            return None
        # A query of a snapshot may give the columns of its rows other names.
        return parents[0].name if _is_plain(node) else None


def _is_plain(node) -> bool:
    """Tell whether a snapshot's query takes every column of its one reference."""
    words = (node.raw_code or "").lower().split()
    return words[:3] == ["select", "*", "from"] and not {"join", "union", "lateral"} & set(words)


def _kind(node) -> str | None:
    """Return what a node of the manifest makes; None if it makes no table."""
    kind = str(node.resource_type)
    if kind == "model":
        if node.config.materialized in GOLD:
            return "gold"
        return None if node.config.materialized in UNCOPIED else "model"
    return kind if kind in ("snapshot", "test", "seed") else None


def table_of(node) -> str:
    """Return the schema and the name of a node's table, with a dot between."""
    return tables_made(node)[0]


def tables_made(node) -> list[str]:
    """Return the tables of a node: of a gold model also the copy that it may keep for others."""
    suffixes = ("_storage", plain_table.SUFFIX) if _kind(node) == "gold" else ("",)
    return [f"{node.schema}{suffix}.{node.alias}" for suffix in suffixes]


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
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    provider = catalog.getTable(schema, name).provider()
    return provider.isDefined() and provider.get().lower() == "delta"


@dataclass
class Finder:
    """How the rows of the subjects are found in tables, without the key: it goes into no log.

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
