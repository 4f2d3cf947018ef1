"""Find the names, the columns and the key of the table of an extract."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from cdc_lakehouse.delta.log import is_table
from cdc_lakehouse.engine import source_tables as engine
from cdc_lakehouse.engine.columns import derived_expression, key_names, source_of
from cdc_lakehouse.engine.source_tables import split_names
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.source_tables import SourceTable
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.sql import identifier, quoted

# The columns of the newest row that is whole, if any is, and the key that messages name.
QUERY = """
    select
        schema_name,
        max_by(
            map_keys(coalesce(after, before)),
            struct(coalesce(after_is_complete, before_is_complete, false), sequence)
        ) as columns,
        max_by(key_columns, sequence) filter (where key_columns is not null) as key
    from {events}
    where kind = 'row_change' and database_name = {database} and table_name = {table} and {schema}
    group by schema_name"""


@dataclass(frozen=True)
class KnownTable:
    """The table of an extract; `columns` are those that silver has seen, none if it has none."""

    database: str
    schema: str | None
    name: str
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def source(self) -> SourceTable:
        """The table as the rest of the project names it."""
        return SourceTable(self.database, self.schema, self.name, self.columns, {}, self.key)

    @property
    def name_in_gold(self) -> str:
        """Its name as the rows of gold tables have it."""
        return engine.SourceTable(self.database, self.schema, self.name).name

    def __str__(self) -> str:
        return str(self.source)


def named_table(named: str) -> KnownTable:
    """Return a table that a person names: DB.TABLE or DB.SCHEMA.TABLE.

    Raises:
        LakehouseError: the name has another number of parts.
    """
    parts = split_names(named, ".")
    if len(parts) not in (2, 3):
        raise LakehouseError(f"--table {named} is no DB.TABLE or DB.SCHEMA.TABLE.")
    return KnownTable(parts[0], parts[1] if len(parts) == 3 else None, parts[-1])


def find_known(spark: SparkSession, named: str) -> KnownTable:
    """Return what silver has seen of a table that a person names.

    It is read by its path: an extract lands while dbt is at work.

    Raises:
        LakehouseError: it is no name of a table, or one in each of several schemas.
    """
    given = named_table(named)
    database, schema, name = given.database, given.schema, given.name
    path = warehouse_path("silver", "events")
    if not is_table(path):
        return given
    query = QUERY.format(
        events=f"delta.{identifier(str(path))}",
        database=quoted(database),
        table=quoted(name),
        schema=f"schema_name = {quoted(schema)}" if schema is not None else "true",
    )
    found = {row.schema_name: row for row in spark.sql(query).collect()}
    if not found:
        return given
    if len(found) > 1 and None not in found:
        several = ", ".join(f"{database}.{each}.{name}" for each in sorted(found))
        raise LakehouseError(f"{named} is in several schemas. Name one of them: {several}.")
    row = found[None] if None in found else next(iter(found.values()))
    return KnownTable(database, row.schema_name, name, tuple(row.columns), tuple(row.key or ()))


def key_of(table: KnownTable, given: Sequence[str], project_dir: Path) -> list[str]:
    """Return the columns of the key, by their names in the source.

    A person may give it; else the gold model of the table says it, or the messages of its feed.

    Raises:
        LakehouseError: nobody does.
    """
    key = list(given) or _key_of_model(table, project_dir) or list(table.key)
    if not key:
        raise LakehouseError(
            f"No gold model reads {table}, and no message names its key. Give it: --key A,B."
        )
    return key


@dataclass(frozen=True)
class GoldModel:
    """The gold model of a table, as its YAML has it: its columns map to those of the source.

    `source_key`: the columns of the source that are of its key. One that tells the table is not.
    """

    name: str
    key: list[str]
    columns: dict[str, str]
    source_key: list[str]


def model_of(table: KnownTable, project_dir: Path) -> GoldModel | None:
    """Return the gold model that has the current rows of a table; None if there is none."""
    gold = Gold(project_dir)
    path = gold.reader_of(table.source)
    if path is None:
        return None
    for file in sorted(path.parent.glob("*.yml")):
        described = yaml.safe_load(file.read_text()) or {}
        for model in described.get("models") or ():
            if model["name"] == path.stem:
                columns = model.get("columns") or ()
                values = {
                    c["name"]: source_of(c)
                    for c in columns
                    if not c["name"].startswith("_") and derived_expression(c) is None
                }
                key, made_of = key_names(model, columns), gold.models[path].columns
                of_source = [values.get(each, each) for each in key if made_of.get(each) != []]
                return GoldModel(path.stem, key, values, of_source)
    return None


def _key_of_model(table: KnownTable, project_dir: Path) -> list[str]:
    model = model_of(table, project_dir)
    return model.source_key if model else []
