"""Find how columns of source tables have changed, by row images and by statements."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from pyspark.sql import SparkSession

from cdc_lakehouse.engine.source_tables import SourceTable as TableNames
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.column_types import holding_all
from cdc_lakehouse.gold.source_tables import SourceTable

SEEN = """
    select
        database_name, schema_name, table_name, format, column_name,
        min(first_seen).sequence as first_seen, max(missing_since).sequence as missing_since
    from silver.source_columns
    group by database_name, schema_name, table_name, format, column_name
"""
SHAPES = """
    select database_name, schema_name, table_name, collect_set(names) as shapes
    from silver.column_shapes
    group by database_name, schema_name, table_name
"""
STATEMENTS = """
    with statements as (
        select *, read_ddl(ddl) as stated from silver.schema_changes where kind = 'schema_change'
    )
    select
        database_name, schema_name, table_name, format,
        concat(topic, '/', partition, ', offset ', offset) as place,
        stated.renamed_columns, stated.renamed_tables,
        stated.altered_columns.column_name as altered,
        filter(stated.altered_columns, altered -> not altered.is_added).column_name as removed,
        stated.names
    from statements
    where size(stated.altered_columns) > 0 or size(stated.renamed_tables) > 0
    order by format, sequence, topic, partition, offset
"""


@dataclass(frozen=True)
class Seen:
    """A column in the images of a format; places are sequences of its changes."""

    format: str
    column: str
    first_seen: str
    missing_since: str | None = None


@dataclass(frozen=True)
class Statement:
    """A statement that changes columns or names of tables, in the words of the source.

    `renames` are pairs of a previous name and a name, `altered` all columns that it adds or drops,
    those that it renames by both names, `removed` the names that it takes away; `names` are all of
    its words in lower case.
    """

    database: str | None
    schema: str | None
    table: str | None
    format: str
    place: str
    renames: tuple[tuple[str, str], ...] = ()
    renamed_tables: tuple[tuple[str, str], ...] = ()
    altered: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def is_near(self, table: TableNames) -> bool:
        """Tell whether it can be about tables of the schema of a table."""
        return self.database == table.database and self.schema in (None, table.schema)

    def may_be_of(self, table: TableNames, tables: Collection[TableNames]) -> bool:
        """Tell whether its schema can be that of a table.

        Without one it is of the table without one, if there is such a table: of MySQL's
        `shop.orders`, not of `shop.public.orders` of another database of that name.
        """
        is_of_other = replace(table, schema=None) in tables and table.schema is not None
        return self.schema is not None or not is_of_other

    def is_of(self, table: TableNames) -> bool:
        """Tell whether it can be about a table."""
        name = table.table or ""
        is_named = self.table == name if self.table else name.lower() in self.names
        return self.is_near(table) and is_named


@dataclass(frozen=True)
class SourceChanges:
    """A table, and how its columns have changed.

    Attributes:
        gone: columns that the source has no longer.
        former: for each column the names that it had before, the newest first, as in images; also
            for one that was renamed and then dropped.
        pending: old names of columns whose new name no row has brought yet.
        place: the place of the statement that gave a column its name.
        doubtful: columns that no statement adds, with those that were gone in the same change.
        shapes: the sets of columns that rows had.
        former_tables: names that the table had before.
    """

    table: SourceTable
    gone: frozenset[str] = frozenset()
    former: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pending: frozenset[str] = frozenset()
    place: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    former_tables: tuple[str, ...] = ()
    shapes: Collection[frozenset[str]] = ()

    @property
    def present(self) -> list[str]:
        """The columns that the source has, in its order."""
        return [column for column in self.table.columns if column not in self.gone]

    @property
    def renamed_and_gone(self) -> list[str]:
        """Columns that had other names before they were dropped, none of which is in use again."""
        return [n for n, olds in self.former.items() if n in self.gone and self.gone >= {*olds}]

    def are_two(self, one: str, other: str) -> bool:
        """Tell whether two names are of two columns: the table has both, or a row had."""
        return {one, other} <= {*self.present} or any({one, other} <= each for each in self.shapes)

    def joined(self) -> SourceTable:
        """Return the table with each column once, with the type that held all of its values.

        A name that another column has taken since stands for that one alone.
        """
        former = {
            name: olds
            for name, olds in self.former.items()
            if self.gone.issuperset(olds)
            and not any(self.are_two(*pair) for pair in combinations((name, *olds), 2))
        }
        types = dict(self.table.types)
        for name, olds in former.items():
            held = [self.table.data_type(each) for each in (name, *olds)]
            if name in types:
                types[name] = (types[name][0], holding_all(held))
        names = {old for olds in former.values() for old in olds}
        columns = tuple(column for column in self.table.columns if column not in names)
        return replace(self.table, columns=columns, types=types, former=former)


def seen_changes(spark: SparkSession, tables: Iterable[SourceTable]) -> list[SourceChanges]:
    """Return what has become of tables.

    Raises:
        LakehouseError: silver has no views of columns yet.
    """
    for view in ("silver.source_columns", "silver.column_shapes", "silver.schema_changes"):
        if not spark.catalog.tableExists(view):
            raise LakehouseError(f"There is no {view} yet. Run `dbt build`.")
    seen: dict[TableNames, list[Seen]] = {}
    for row in spark.sql(SEEN).collect():
        seen.setdefault(TableNames(*row[:3]), []).append(Seen(*row[3:]))
    statements = [
        Statement(
            *(row.database_name, row.schema_name, row.table_name or None, row.format, row.place),
            renames=tuple(map(tuple, row.renamed_columns)),
            renamed_tables=tuple(map(tuple, row.renamed_tables)),
            altered=tuple(row.altered),
            removed=tuple(row.removed),
            names=tuple(row.names),
        )
        for row in spark.sql(STATEMENTS).collect()
    ]
    shapes = {
        TableNames(*row[:3]): frozenset(map(frozenset, row.shapes))
        for row in spark.sql(SHAPES).collect()
    }
    tables = list(tables)
    all_names = {table.names for table in tables}
    return [
        changes_of(
            table,
            seen.get(table.names, ()),
            [statement for statement in statements if statement.may_be_of(table.names, all_names)],
            shapes.get(table.names, ()),
        )
        for table in tables
    ]


def changes_of(
    table: SourceTable,
    seen: Sequence[Seen],
    statements: Sequence[Statement],
    shapes: Collection[frozenset[str]] = (),
) -> SourceChanges:
    """Return what has become of a table's columns.

    Args:
        seen: its columns, by formats.
        statements: in the order of the source, those of other tables too.
        shapes: the sets of columns that its rows had.
    """
    spelled = {name.lower(): name for name in reversed(table.columns)}
    lineage: dict[str, tuple[str, ...]] = {}
    dropped: dict[str, tuple[str, ...]] = {}
    added: set[str] = set()
    place: dict[str, str] = {}
    stated: set[str] = set()

    def spell(name: str) -> str:
        return name if name in table.columns else spelled.get(name.lower(), name)

    for statement in statements:
        if not statement.is_of(table.names):
            continue
        renames = [(spell(old), spell(new)) for old, new in statement.renames]
        altered = {spell(name) for name in statement.altered}
        before = {name: lineage.pop(name, ()) for name in altered}
        lineage |= {new: (old, *before.get(old, ())) for old, new in renames}
        removed = {spell(name) for name in statement.removed} - {old for old, _ in renames}
        dropped = {name: olds for name, olds in dropped.items() if name not in altered - removed}
        dropped |= {name: before[name] for name in removed if before[name]}
        added -= altered
        added |= altered - removed - {name for pair in renames for name in pair}
        place |= {new: statement.place for _, new in renames}
        stated |= altered
    known = [
        (name, [each for each in dict.fromkeys((name, *olds)) if each in table.columns])
        for name, olds in (dropped | lineage).items()
    ]
    # A column whose name no row has brought is known by the last that a row has brought.
    former = {
        names[0]: tuple(names[1:])
        for name, names in sorted(known, key=lambda each: each[0] in table.columns)
        if names and (names[0] == name or names[0] not in added)
    }
    gone = {each.column: each for each in seen if each.missing_since is not None}
    return SourceChanges(
        table,
        frozenset(gone),
        {name: olds for name, olds in former.items() if olds},
        frozenset(
            each
            for name, names in known
            if name in lineage and name not in table.columns
            for each in names
        ),
        place,
        {
            new.column: olds
            for new in seen
            if new.column not in stated
            and (olds := tuple(old for old in gone if _replaces(new, gone[old])))
        },
        tuple(
            previous
            for each in statements
            for previous, name in each.renamed_tables
            if each.is_near(table.names) and name.lower() == table.name.lower()
        ),
        shapes,
    )


def _replaces(new: Seen, old: Seen) -> bool:
    """Tell whether a column came in the very change in which another was gone."""
    return (new.format, new.first_seen) == (old.format, old.missing_since)
