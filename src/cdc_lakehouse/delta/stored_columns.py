"""Decide how a stored table gets the columns of a contract that has changed."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from cdc_lakehouse.runtime.jvm import jvm_of
from cdc_lakehouse.sql import identifier


def columns_to_add(
    stored: Mapping[str, Any],
    contract: Mapping[str, Any],
    required: Collection[str],
    loses_rows: bool,
) -> list[str]:
    """Return the columns that a table gets in place, in the order of the contract.

    A rebuild gives every row its values, so it comes first. Only where it would lose rows, and the
    table lacks nothing but columns that may be null, are those added.

    Args:
        stored: the types of the table's columns, by name.
        contract: the types that its definition gives them.
        required: the columns that must not be null.
        loses_rows: whether a rebuild would lose rows that the table holds.

    Returns:
        None of them if the table is as its contract says or has to be rebuilt.
    """
    missing = [name for name in contract if name not in stored]
    is_all = all(contract.get(name) == data_type for name, data_type in stored.items())
    return missing if loses_rows and is_all and not set(missing) & set(required) else []


def changed_columns(stored: Mapping[str, Any], contract: Mapping[str, Any]) -> list[str]:
    """Return the names of columns in which a table and its contract differ, sorted."""
    names = stored.keys() | contract.keys()
    return sorted(name for name in names if stored.get(name) != contract.get(name))


def required_columns(columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of those columns of a contract that must not be null."""
    return [
        column["name"]
        for column in columns
        if any(each["type"] == "not_null" for each in column.get("constraints") or ())
    ]


def types_of_columns(spark: SparkSession, columns: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the types that the columns of a contract (name, data_type) have in Spark."""
    definition = ", ".join(
        f"{identifier(column['name'])} {column['data_type']}" for column in columns
    )
    return types_of_schema(
        jvm_of(spark).org.apache.spark.sql.types.StructType.fromDDL(definition).json()
    )


def types_of_schema(schema: str) -> dict[str, Any]:
    """Return the types of the columns of a schema that Spark has written as JSON."""
    return {field["name"]: _plain(field["type"]) for field in json.loads(schema)["fields"]}


def _plain(data_type: Any) -> Any:
    """A type as Spark writes it in JSON, without what is not of the type: where nulls may be."""
    if isinstance(data_type, list):
        return [_plain(part) for part in data_type]
    if isinstance(data_type, dict):
        besides = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {name: _plain(part) for name, part in data_type.items() if name not in besides}
    return data_type
