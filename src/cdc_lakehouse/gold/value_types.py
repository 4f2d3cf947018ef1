"""Choose a Spark type by the values that silver holds, for columns without a type in messages.

A type fits if no value loses anything: its text comes back from the type as it was. So leading
zeros, a plus sign, an empty text or `-0` make a column text. Decimals fit if all fractions have the
same length. If lengths differ, a value may only gain zeros, and no value may end in a zero (1.1 and
1.10 may be versions). Types leave room to grow: a bigint, 38 digits.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

VALUES = r"""
    with images as (
        select
            database_name, schema_name, table_name, column_types,
            explode(filter(array(before, after), image -> image is not null)) as image
        from silver.events
        where kind = 'row_change'
    ),
    texts as (
        select
            database_name, schema_name, table_name, name, text,
            regexp_extract(text, r'^-?([0-9]*)', 1) as whole,
            regexp_extract(text, r'[.]([0-9]*)\z', 1) as fraction
        from images lateral view explode(image) as name, text
        where text is not null and column_types[name] is null
    )
    select
        database_name, schema_name, table_name, name,
        count(*) as texts,
        bool_and(cast(try_cast(text as bigint) as string) <=> text) as are_bigints,
        bool_and(cast(try_cast(text as decimal(38, 0)) as string) <=> text) as are_integers,
        bool_and(
            text rlike r'^-?(0|[1-9][0-9]*)([.][0-9]+)?\z' and not text rlike r'^-0([.]0+)?\z'
        ) as are_decimals,
        max(length(whole)) as whole_digits,
        max(length(fraction)) as fraction_digits,
        min(length(fraction)) = max(length(fraction)) or not bool_or(fraction like '%0')
            as keep_fractions,
        bool_and(cast(try_cast(text as date) as string) <=> text) as are_dates,
        bool_and(cast(try_cast(text as timestamp_ntz) as string) <=> text) as are_datetimes
    from texts
    group by database_name, schema_name, table_name, name
"""


@dataclass(frozen=True)
class SeenTexts:
    """The texts of a column, as the columns of VALUES describe them."""

    texts: int
    are_bigints: bool = False
    are_integers: bool = False
    are_decimals: bool = False
    whole_digits: int = 0
    fraction_digits: int = 0
    keep_fractions: bool = False
    are_dates: bool = False
    are_datetimes: bool = False


@dataclass(frozen=True)
class Fit:
    """A type other than text that fits every one of so many texts."""

    data_type: str
    texts: int

    def values_seen(self) -> str:
        """Return in words how many values the type was found to fit."""
        return "the one value seen" if self.texts == 1 else f"all {self.texts:,} values seen"


def fits_of_tables(spark: SparkSession) -> dict[tuple[Any, ...], dict[str, Fit]]:
    """Return of each table (database, schema, table) the columns that a type fits."""
    found: dict[tuple[Any, ...], dict[str, Fit]] = {}
    for row in spark.sql(VALUES).collect():
        database, schema, table, column, *seen = row
        texts = SeenTexts(*seen)
        data_type = fitting_type(texts)
        if data_type:
            found.setdefault((database, schema, table), {})[column] = Fit(data_type, texts.texts)
    return found


def fitting_type(seen: SeenTexts) -> str | None:
    """Return the Spark type that fits the texts of a column, None if only text does."""
    if seen.are_bigints:
        return "bigint"
    if seen.are_integers:
        return "decimal(38, 0)"
    is_narrow = seen.whole_digits + seen.fraction_digits <= 38
    if seen.are_decimals and seen.keep_fractions and is_narrow:
        return f"decimal(38, {seen.fraction_digits})"
    if seen.are_dates:
        return "date"
    return "timestamp_ntz" if seen.are_datetimes else None
