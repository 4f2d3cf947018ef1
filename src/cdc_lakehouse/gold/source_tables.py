"""The tables of the sources, as silver has seen them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from pyspark.sql import SparkSession

from cdc_lakehouse.engine.source_tables import SourceTable as TableNames
from cdc_lakehouse.engine.source_tables import split_names
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.column_types import SeenType, column_types
from cdc_lakehouse.gold.value_types import Fit, fits_of_tables
from cdc_lakehouse.sql import identifier

CHANGES = """
    select
        database_name, schema_name, table_name, format, source_type, key_columns, column_types,
        sequence, operation in ('snapshot', 'insert', 'delete') as is_as_sent,
        coalesce(after, before) as image,
        coalesce(if(after is null, before_is_complete, after_is_complete), false) as is_complete
    from silver.events
    where kind = 'row_change'
"""
# Updates may be completed from the row before, which moves the columns that they changed.
TABLES = f"""
    select
        database_name, schema_name, table_name,
        max_by(
            map_keys(image),
            struct(is_complete, is_as_sent, if(is_complete, 0, size(image)), sequence)
        ) as newest_columns,
        max_by(key_columns, sequence) filter (where key_columns is not null) as key_columns
    from ({CHANGES})
    group by database_name, schema_name, table_name
    order by database_name, schema_name, table_name
"""
COLUMNS = f"""
    select
        database_name, schema_name, table_name, format, source_type, name,
        column_types[name] as type,
        bool_or(image[name] rlike '^[0-9]+-[0-9]{{2}}-[0-9]{{2}}[ T].*[1-9]') as has_clock
    from ({CHANGES}) lateral view posexplode(map_keys(image)) as place, name
    group by database_name, schema_name, table_name, format, source_type, name, column_types[name]
    order by min(struct(sequence, place)), name
"""
# The hidden column that DataWorks sends of a table without a key.
ROW_ID = "#alibaba_rds_row_id#"


@dataclass(frozen=True)
class SourceTable:
    """A table as silver has seen it.

    `columns` are in the order of the newest whole row, `types` maps a column that messages give a
    type to its wording and the Spark type of `column_types`; `key` is None where no message names
    one or carries a row's id. `is_alone` tells whether no other schema of the database has a table
    of this name, `has_twin` whether another table differs from it only in upper and lower case.
    `fits` are the types that all values of columns fit that messages give no type, `worded` all
    types that messages gave its columns, `former` the names that a column had before.
    """

    database: str
    schema: str | None
    name: str
    columns: tuple[str, ...]
    types: dict[str, tuple[str, str]]
    key: tuple[str, ...] | None
    is_alone: bool = True
    has_twin: bool = False
    fits: dict[str, Fit] = field(default_factory=dict)
    worded: tuple[SeenType, ...] = ()
    former: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def inferred(self) -> "SourceTable":
        """Return the table with the types that its values fit for those that messages lack."""
        types = {column: ("", fit.data_type) for column, fit in self.fits.items()}
        return replace(self, types=types | self.types)

    def __str__(self) -> str:
        parts = [part for part in (self.database, self.schema, self.name) if part is not None]
        return ".".join(p if re.fullmatch(r"[^.,*`\s]+", p) else identifier(p) for p in parts)

    @property
    def names(self) -> TableNames:
        """Its names alone."""
        return TableNames(self.database, self.schema, self.name)

    def data_type(self, column: str) -> str:
        """Return the Spark type of a column; text where nothing tells another."""
        return self.types[column][1] if column in self.types else "string"

    def is_inferred(self, column: str) -> bool:
        """Tell whether a column has the type of its values, and not one of the messages."""
        return column in self.types and not self.types[column][0]


def seen_tables(spark: SparkSession) -> list[SourceTable]:
    """Return the tables that silver has row changes of.

    Raises:
        LakehouseError: there is no silver yet.
    """
    if not spark.catalog.tableExists("silver.events"):
        raise LakehouseError("There is no silver.events yet. Run `dbt build`.")
    found = defaultdict(list)
    for row in spark.sql(COLUMNS).collect():
        found[row[:3]].append(row)
    tables = spark.sql(TABLES).collect()
    fits = fits_of_tables(spark)
    names = [(row.database_name, row.table_name) for row in tables]
    lower_names = [_lower(row[:3]) for row in tables]
    seen = []
    for row in tables:
        columns = found[row[:3]]
        types = [
            SeenType(c.format, c.name, c.type, bool(c.has_clock), c.source_type)
            for c in columns
            if c.type is not None
        ]
        column_names = tuple(dict.fromkeys((*row.newest_columns, *(c.name for c in columns))))
        typed = {each.column for each in types}
        row_id = (ROW_ID,) if ROW_ID in column_names else None
        seen.append(
            SourceTable(
                *(row.database_name, row.schema_name, row.table_name),
                columns=column_names,
                types=column_types(types, has_schema=row.schema_name is not None),
                key=tuple(row.key_columns) if row.key_columns else row_id,
                is_alone=names.count((row.database_name, row.table_name)) == 1,
                has_twin=lower_names.count(_lower(row[:3])) > 1,
                fits={
                    column: fit
                    for column, fit in fits.get(tuple(row[:3]), {}).items()
                    if column not in typed
                },
                worded=tuple(types),
            )
        )
    return seen


def _lower(names: Iterable[str | None]) -> tuple[str | None, ...]:
    return tuple(name and name.lower() for name in names)


def find_table(tables: Sequence[SourceTable], named: str) -> SourceTable:
    """Return the table that a person names: DB.TABLE or DB.SCHEMA.TABLE.

    Args:
        named: parts with dots stand in backticks, a backtick in them is doubled.

    Raises:
        LakehouseError: silver has no such table, or one in each of several schemas.
    """
    parts = split_names(named, ".")
    if len(parts) == 3:
        matching = [t for t in tables if [t.database, t.schema, t.name] == parts]
    else:
        matching = [t for t in tables if [t.database, t.name] == parts]
        matching = [t for t in matching if t.schema is None] or matching
    if len(matching) > 1:
        several = ", ".join(map(str, matching))
        raise LakehouseError(f"{named} is in several schemas. Name one of them: {several}.")
    if matching:
        return matching[0]
    if not tables:
        raise LakehouseError("silver has no row changes yet, of no table. Land some messages.")
    names = sorted(map(str, tables))
    likeness = {n: SequenceMatcher(None, named.lower(), n.lower()).ratio() for n in names}
    closest = sorted(names, key=lambda name: likeness[name], reverse=True)
    raise LakehouseError(
        f"silver has no row changes of {named}. It has those of {listed(closest)}."
    )


def listed(names: Sequence[str], limit: int = 10) -> str:
    """Return the first of some names as a text, and how many more there are."""
    more = f", and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
