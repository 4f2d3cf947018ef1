"""The Spark settings that decide what a value means; nobody may change them.

If a table is written with one time zone, type or rule of casting today and with another tomorrow,
no reader can tell its values apart.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError

PINNED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.variable.substitute": "true",
}
# Spark's ways back to what it did in earlier versions: each changes what some function gives.
LEGACY = "spark.sql.legacy."
_BY_NAME = {name.lower(): (name, value) for name, value in PINNED.items()}


def refuse_other_meanings(settings: Mapping[str, str], where: str) -> None:
    """Refuse settings that change what a value means.

    Args:
        settings: names of Spark settings and their values.
        where: what gives them, for the error.

    Raises:
        LakehouseError: one is pinned to another value, or is one of Spark's `legacy` settings.
    """
    for name, found in settings.items():
        pinned, value = _BY_NAME.get(name.lower(), (name, None))
        if name.lower().startswith(LEGACY):
            raise LakehouseError(
                f"{where} sets {name}, which brings back what an earlier Spark did. Tables would "
                "hold values of two kinds: take the setting out."
            )
        if value is not None and str(found).lower() != value.lower():
            raise LakehouseError(
                f"{where} sets {pinned} to {found}. It decides what a value means, so that tables "
                f"would hold values of two kinds: it has to be {value}. Take the setting out, and "
                "convert values in a model or a query instead."
            )


def restore_meanings(spark: SparkSession) -> dict[str, str]:
    """Give a session the pinned values again; return those that it had instead."""
    found = {name: spark.conf.get(name) or "" for name in PINNED}
    changed = {
        name: value for name, value in found.items() if value.lower() != PINNED[name].lower()
    }
    for name in changed:
        spark.conf.set(name, PINNED[name])
    return changed
