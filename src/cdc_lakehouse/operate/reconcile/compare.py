"""Compare an extract of a table with its gold table, column by column; nothing lands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.engine import extracts
from cdc_lakehouse.engine.projection import columns_read
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.operate.reconcile.compiled import Compiled
from cdc_lakehouse.operate.reconcile.known import KnownTable
from cdc_lakehouse.operate.reconcile.landing import Extract, Request, refuse_future, stage_extract
from cdc_lakehouse.protection import LAYERS, Protection, read_protection
from cdc_lakehouse.sql import identifier, quoted
from cdc_lakehouse.storage.files import Location

KEYS_NAMED = 5
ROW_IMAGES = re.compile(r"`?silver`?\.`?row_images`?")
DROPPED = "silver.dropped_tables"
IMAGES = """
    select
        {database} as database_name, {schema} as schema_name, {table} as table_name,
        {source_table} as source_table, 'snapshot' as operation,
        {image} as image, false as is_replaced,
        cast(null as array<string>) as key_columns, true as image_is_complete,
        cast(null as boolean) as is_whole, '' as sequence,
        current_timestamp() as committed_at, '' as topic, 0 as partition, 0L as offset,
        0 as row_number, 0L as bronze_version, current_timestamp() as loaded_at
    from extract_staged"""
# The row as it is after a layer, where a line of seeds/protected_columns.csv is of its table.
PROTECTED = """
        protected_images(
            {rules}, {layer}, {number}, {names}, {key},
            cast(null as map<string, string>), {image}, cast(null as map<string, string>)
        ).after"""


@dataclass
class Comparison:
    """What an extract and a gold table have in common, in rows, and where they differ.

    `missing` are in the extract alone, `extra` in gold alone. Rows that have changed since reading
    began are `changed_since`, and not compared. `columns` counts the differing rows by column; the
    keys of some rows are in `keys`, by the names of these fields and of columns.
    """

    table: str
    model: str
    taken_at: datetime
    place: str
    rows: int = 0
    equal: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    changed_since: int = 0
    columns: dict[str, int] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not (self.missing or self.extra or self.different)


def compare_extract(
    spark: SparkSession, request: Request, project_dir: Path, model: Compiled, folder: Location
) -> Comparison:
    """Compare an extract with the gold table of its table, their values typed as gold types them.

    Args:
        model: the gold model.
        folder: where the rows of the extract are kept meanwhile.

    Raises:
        LakehouseError: it cannot be an extract of the table.
    """
    refuse_future(request.taken_at)
    extract = stage_extract(spark, request, project_dir, folder)
    extract.staged.createOrReplaceTempView("extract_staged")
    images = query_of_images(extract.table, extract.key, read_protection(project_dir))
    spark.sql(images).createOrReplaceTempView("extract_images")
    reads = columns_read(model.sql)
    values = [
        name
        for name in model.columns
        if name not in model.key and set(reads.get(name, [])) <= set(extract.columns)
    ]
    place = _place_of(spark, extract.table, request.taken_at)
    found = Comparison(str(extract.table), model.name, request.taken_at, place, extract.rows)
    found.notes += [
        f"Not compared, for the extract lacks what it is made from: {name}."
        for name in model.columns
        if name not in (*values, *model.key)
    ]
    compared = _compared(spark, extract, model, values, place).persist()
    try:
        _count(compared, found, model.key, values)
    finally:
        compared.unpersist()
    return found


def query_of_images(table: KnownTable, key: Sequence[str], protection: Protection) -> str:
    """Return the query of the rows of an extract of a table, as gold would read them."""

    def text(value: str | None) -> str:
        return "cast(null as string)" if value is None else quoted(value)

    image = "from_json(value, 'row map<string, string>').row"
    names = [text(each) for each in (table.database, table.schema, table.name)]
    for layer in LAYERS:
        of_table = (
            x.is_of_table(table.database, table.schema, table.name) for x in protection.of(layer)
        )
        if any(of_table):
            image = PROTECTED.format(
                rules=quoted(protection.rules()),
                layer=quoted(layer),
                number=quoted(protection.key_number),
                names=f"array({', '.join(names)})",
                key=f"array({', '.join(map(quoted, key))})",
                image=image,
            )
    database, schema, name = names
    return IMAGES.format(
        database=database,
        schema=schema,
        table=name,
        source_table=quoted(table.name_in_gold),
        image=image,
    )


def _place_of(spark: SparkSession, table: KnownTable, taken_at: datetime) -> str:
    """Return the place that the extract would take among the changes that silver has."""
    moment = int(taken_at.timestamp()) * 1_000_000
    extract = extracts.Extract("", 0, table.database, table.schema, table.name, moment)
    changes = f"select {extracts.COLUMNS_OF_CHANGES} from silver.events"
    names = sql.names_of_dropped_table()
    (row,) = spark.sql(extracts.query_of_places([extract], changes, names)).collect()
    place: str = row.place
    return place


def _compared(
    spark: SparkSession, extract: Extract, model: Compiled, values: Sequence[str], place: str
) -> DataFrame:
    """Return a row for each key of either side: its key, and what became of it."""
    is_of_table = f"_source_table = {quoted(extract.table.name_in_gold)}"
    keys = [identifier(name) for name in model.key]
    listed = ", ".join([*keys, *map(identifier, values)])
    shown = spark.table(model.relation)
    is_there = "not _is_deleted" if "_is_deleted" in shown.columns else "true"
    spark.sql(f"""
        select {", ".join(keys)}, _operation from ({model.sql}
        )
        where {is_of_table} and _sequence > {quoted(place + extracts.BEHIND)}
            and _operation <> 'extract' and _topic <> {quoted(extract.topic)}
    """).createOrReplaceTempView("changes_since")
    all_since = str(_is_emptied(spark, extract.table, model, place)).lower()
    typed = ROW_IMAGES.sub("extract_images", model.sql)
    differ = [f"if({_differs(name)}, {quoted(name)}, null)" for name in values]
    either = ", ".join(f"coalesce(taken.{name}, shown.{name}) as {name}" for name in keys)
    return spark.sql(f"""
        with taken as (
            select {listed}, true as _is_there from ({typed}
            )
        ),
        shown as (
            select {listed}, _problems, true as _is_there from ({_merged(spark, model)})
            where {is_of_table} and {is_there}
        ),
        sides as (
            select
                {either},
                taken._is_there as in_extract,
                shown._is_there as in_gold,
                array_compact(cast(array({", ".join(differ)}) as array<string>)) as differing
            from taken
            full outer join shown on {_same(keys, "taken", "shown")}
        ),
        since as (
            select distinct {", ".join(keys)}, true as _is_there from changes_since
        )
        select sides.*, {all_since} or since._is_there is not null as is_since
        from sides
        left join since on {_same(keys, "sides", "since")}""")


def _is_emptied(spark: SparkSession, table: KnownTable, model: Compiled, place: str) -> bool:
    """Tell whether a TRUNCATE or DROP that the model heeds came since: a change of every row."""
    removing = ", ".join(quoted(each) for each in model.removing if each != "extract")
    asked = [f"select 1 from changes_since where _operation in ({removing or 'null'})"]
    if "drop" in model.removing and spark.catalog.tableExists(DROPPED):
        came_since = f"sequence > {quoted(place + extracts.BEHIND)}"
        name = quoted(table.name_in_gold)
        asked.append(f"select 1 from {DROPPED} where source_table = {name} and {came_since}")
    return bool(spark.sql(f"{' union all '.join(asked)} limit 1").collect())


def _merged(spark: SparkSession, model: Compiled) -> str:
    """The query of the rows that gold has, with those that a rule holds back."""
    shown = f"select * from {model.relation}"
    if not spark.catalog.tableExists(model.held):
        return shown
    return f"{shown} union all select * from {model.held}"


def _same(keys: Sequence[str], one: str, other: str) -> str:
    return " and ".join(f"{one}.{name} <=> {other}.{name}" for name in keys)


def _differs(name: str) -> str:
    """Whether a value differs; one that does not fit its type in gold is a problem of its own."""
    one, other = (f"{side}.{identifier(name)}" for side in ("taken", "shown"))
    one, other = (f"to_json(struct({value}))" for value in (one, other))
    fits = f"not exists(shown._problems, problem -> problem.column = {quoted(name)})"
    return f"not {one} <=> {other} and coalesce({fits}, true)"


def _count(
    compared: DataFrame, found: Comparison, key: Sequence[str], values: Sequence[str]
) -> None:
    what = (
        F.when(F.col("is_since"), "changed_since")
        .when(F.col("in_gold").isNull(), "missing")
        .when(F.col("in_extract").isNull(), "extra")
        .when(F.size("differing") > 0, "different")
        .otherwise("equal")
    )
    told = compared.withColumn("what", what)
    for name, count in told.groupBy("what").count().collect():
        setattr(found, name, count)
    text = F.concat_ws(", ", *(F.concat(F.lit(f"{n}="), F.col(identifier(n))) for n in key))
    told = told.select("what", "differing", text.alias("key"))
    for name in ("missing", "extra"):
        if getattr(found, name):
            found.keys[name] = _some(told.where(F.col("what") == name))
    if found.different:
        by_column = told.where("what = 'different'").select(
            F.explode("differing").alias("column"), "key"
        )
        counts = dict(map(tuple, by_column.groupBy("column").count().collect()))
        found.columns = {name: counts[name] for name in values if name in counts}
        for name in found.columns:
            found.keys[name] = _some(by_column.where(F.col("column") == name))


def _some(rows: DataFrame) -> list[str]:
    return [row.key for row in rows.select("key").orderBy("key").limit(KEYS_NAMED).collect()]
