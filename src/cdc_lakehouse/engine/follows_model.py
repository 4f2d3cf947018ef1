"""Read the model of a mart that follows gold tables, and refuse one that cannot follow them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.engine.columns import key_names
from cdc_lakehouse.engine.follows import Followed, Mart
from cdc_lakehouse.engine.materializations import gold_kind
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import identifier

EXAMPLE = "follows={'orders': 'customer_id'}"


def read_mart(
    node: Mapping[str, Any],
    relation: BaseRelation,
    sql: str,
    nodes: Mapping[str, Mapping[str, Any]],
) -> Mart:
    """Return the mart that a model is.

    Args:
        node: the model as dbt has it.
        nodes: those of dbt's graph.

    Raises:
        LakehouseError: it has no key, or follows other tables than it reads.
    """
    name, config = node["name"], node["config"]
    given = config.get("unique_key")
    key = [given] if isinstance(given, str) else given
    key = key or key_names(node, node["columns"].values())
    if not key:
        raise LakehouseError(
            f"{name} follows gold tables but has no key. Name the columns that tell its rows "
            "apart: unique_key='order_id' in config(), or a primary_key constraint in its YAML."
        )
    columns = _columns_by_table(name, config.get("follows"))
    read = {each["name"]: each for each in _tables_read(node, nodes)}
    for wanted, where in ((read, columns), (columns, read)):
        if missing := [each for each in wanted if each not in where]:
            raise LakehouseError(
                f"{name}: follows names {_listed(columns)}, but its SQL reads {_listed(read)} by "
                f"ref(): {_listed(missing)} is in one of them only. Name each gold table that the "
                "SQL reads, and no other."
            )
    followed = tuple(
        Followed(
            each,
            relation.create(schema=read[each]["schema"], identifier=read[each]["alias"]),
            columns[each],
            f"touched_{place}",
        )
        for place, each in enumerate(sorted(columns))
    )
    is_held = (config.get("contract") or {}).get("enforced")
    return Mart(
        name,
        relation,
        sql,
        tuple(map(str, key)),
        followed,
        node["columns"] if is_held else {},
        tuple(config.get("cluster_by") or ()),
    )


def _columns_by_table(name: str, follows: Any) -> dict[str, dict[str, str]]:
    """Return what `follows` gives each gold table: columns of the mart with expressions."""
    if not follows or not isinstance(follows, Mapping):
        raise LakehouseError(
            f"{name}: option follows: found {json.dumps(follows)}; it gives the columns of the "
            f"mart by which its rows depend on each gold table, for example {EXAMPLE}."
        )
    found = {}
    for table, given in follows.items():
        listed = [given] if isinstance(given, str) else given
        if isinstance(listed, Mapping):
            columns = {str(column): str(expression) for column, expression in listed.items()}
        elif isinstance(listed, Sequence):
            columns = {str(column): identifier(str(column)) for column in listed}
        else:
            columns = {}
        if not columns:
            raise LakehouseError(
                f"{name}: option follows: found {json.dumps(given)} for {table}; it is a column of "
                "the mart, a list of such, or gives columns of the mart their expression over a "
                f"row of {table}: {{'order_id': 'id'}}."
            )
        found[str(table)] = columns
    return found


def _tables_read(
    node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the gold models that a mart reads."""
    found = []
    for each in node["depends_on"]["nodes"]:
        read = nodes.get(each, {})
        if not gold_kind(read.get("config", {}).get("materialized")):
            raise LakehouseError(
                f"{node['name']} reads {each.split('.', 1)[1]}, which is no gold table: its "
                "changes cannot be followed. Read gold tables that say change_feed=true, by ref(), "
                "or let the mart be materialized='table'."
            )
        found.append(read)
    return found


def _listed(tables: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(sorted(tables)) or "none"


def refuse_columns(mart: Mart, found: Mapping[str, str]) -> None:
    """Refuse a mart whose query lacks a column of its key or of `follows`.

    Args:
        found: the types of the query's columns, by their names in small letters.

    Raises:
        LakehouseError: it names the column.
    """
    wanted = [("its key", column) for column in mart.key]
    wanted += [(f"follows of {f.name}", column) for f in mart.followed for column in f.columns]
    for what, column in wanted:
        if column.lower() not in found:
            raise LakehouseError(
                f"{mart.name} has no column {column}, which {what} names. The columns of its SQL "
                f"are {', '.join(found)}."
            )


def refuse_types(
    mart: Mart, followed: Followed, found: Mapping[str, str], touched: Mapping[str, str]
) -> None:
    """Refuse values of another type than the mart's column: they may not be equal to it.

    Args:
        found, touched: the types of the columns of the mart and of the touched values.

    Raises:
        LakehouseError: it names the column.
    """
    for column, expression in followed.columns.items():
        mine, other = found[column.lower()], touched[column.lower()]
        if mine != other:
            raise LakehouseError(
                f"{mart.name}: option follows: {expression} of {followed.name} is {other}, and the "
                f"column {column} is {mine}: equal values may not be found. Give follows an "
                f"expression of the type {mine}: {{'{column}': 'cast({expression} as {mine})'}}."
            )
