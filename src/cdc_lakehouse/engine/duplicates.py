"""Mark the row changes that are duplicates: the same content at the same place, delivered again.

The first delivery that silver reads is the change; later ones are duplicates. The mark is written
with the row, so that readers of the changes compare nothing.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.delta.append import Append
from cdc_lakehouse.engine.latest_changes import COLUMNS, Source, is_of_none
from cdc_lakehouse.sql import quoted

COLUMN = "is_duplicate"
# The property of a change log that has rows from before it had the column.
UNMARKED = "cdc_lakehouse.has_unmarked_duplicates"
PLACE = f"{COLUMNS}, sequence, operation"
ROW = ["topic", "partition", "offset", "row_number"]
# Above so many source tables, one range of the log is read for all.
MANY_TABLES = 64


def with_duplicates(rows: str) -> str:
    """Return the query of rows of the change log, marked by whether they are duplicates in it."""
    return f"""
        select
            * except ({COLUMN}),
            case
                when kind = 'row_change'
                    then row_number() over (
                        partition by
                            {PLACE}, kind,
                            if(
                                kind = 'row_change',
                                to_json(struct(before, after)),
                                concat_ws(' ', topic, partition, offset)
                            )
                        order by bronze_version, topic, partition, offset, row_number
                    ) > 1
            end as {COLUMN}
        from ({rows})"""


def with_other_rows(results: str, processed: str, before: str) -> str:
    """Return the query of new results, marked, and of other rows whose mark these change.

    Args:
        results: the query of the new results of messages that were processed before, and of others.
        processed: the query of the change log, with the same columns in the same order.
        before: a view of the rows that the messages had.
    """
    place = f"xxhash64({PLACE})"
    rows = with_duplicates(f"""
        select *, false as is_other, {COLUMN} as was_duplicate from ({results})
        union all
        select *, true as is_other, {COLUMN} as was_duplicate from ({processed}) as processed
        where
            kind = 'row_change'
            and {place} in (select {place} from ({results}) union all select {place} from {before})
            and {is_of_none("processed", before)}""")
    return f"""
        select * except (is_other, was_duplicate) from ({rows})
        where not is_other or not {COLUMN} <=> was_duplicate"""


def marking(table: str) -> str:
    """Return the statement that marks the duplicates in a whole change log."""
    row = " and ".join(f"changes.{name} = marked.{name}" for name in ROW)
    return f"""
        merge into {table} as changes
        using (
            select {", ".join(ROW)}, {COLUMN}
            from ({with_duplicates(f"select * from {table} where kind = 'row_change'")})
        ) as marked
        on {row}
        when matched and not changes.{COLUMN} <=> marked.{COLUMN}
            then update set {COLUMN} = marked.{COLUMN}"""


def reach(
    first: Mapping[Source, str], last: Mapping[Source, str], known: Mapping[Source, str]
) -> str | None:
    """Return the condition on rows of earlier runs of which new changes may be duplicates.

    Args:
        first, last: the least and the greatest `sequence` of the new changes of each source table.
        known: the greatest of earlier runs; what comes after it is new.

    Returns:
        None if there can be no such row.
    """
    late = [source for source, least in first.items() if least <= known.get(source, "")]
    if not late:
        return None
    if len(late) > MANY_TABLES:
        return _between(min(first[source] for source in late), max(last[source] for source in late))
    return " or ".join(
        f"({_of(source)} and {_between(first[source], last[source])})" for source in late
    )


def _between(first: str, last: str) -> str:
    return f"sequence between {quoted(first)} and {quoted(last)}"


def _of(source: Source) -> str:
    values = ("null" if name is None else quoted(name) for name in source)
    names = zip(COLUMNS.split(", "), values, strict=True)
    return " and ".join(f"{column} <=> {value}" for column, value in names)


def mark_duplicates(
    spark: SparkSession, append: Append, written: str, table: str, earlier: str | None
) -> None:
    """Mark the duplicates in rows that are written and not yet committed to the change log.

    Args:
        written: a view of these rows, with their files.
        table: the change log.
        earlier: the condition on its rows that `reach` returns.
    """
    changes = f"select *, xxhash64({PLACE}) as place from {written} where kind = 'row_change'"
    if earlier:
        changes = f"""{changes}
        union all
        select *, cast(null as string) as file, xxhash64({PLACE}) as place
        from {table} where kind = 'row_change' and not {COLUMN} and ({earlier})"""
    # Two places may have one number: their changes are then compared, too, and differ.
    shared = f"select place from ({changes}) group by place having count(*) > 1"
    if not spark.sql(f"{shared} limit 1").collect():
        return
    compared = with_duplicates(f"select * from ({changes}) where place in ({shared})")
    found = spark.sql(
        f"select {', '.join(ROW)}, file from ({compared}) where {COLUMN} and file is not null"
    )
    found = found.localCheckpoint()
    if names := [row.file for row in found.select("file").distinct().collect()]:
        append.rewrite(names, _marked(append.rows(names), found.drop("file")))


def _marked(rows: DataFrame, duplicates: DataFrame) -> DataFrame:
    """Return rows in which those are marked that are among the duplicates."""
    is_found = F.col("is_found").isNotNull() | F.col(COLUMN)
    marked = rows.join(duplicates.withColumn("is_found", F.lit(True)), ROW, "left")
    return marked.withColumn(COLUMN, is_found).select(*rows.columns)
