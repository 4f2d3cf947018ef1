"""Shards, tables of one shape, in one gold table: refuse a key that does not tell them apart.

Two tables that match a pattern may have rows with the same key. If the key of the model contains
the table, these are two rows. If it does not, one of them would replace the other.
"""

import sqlglot

from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_table import GoldTable
from cdc_lakehouse.engine.projection import Spark4, expressions_of
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.row_images import stars_of
from cdc_lakehouse.engine.source_tables import reads_by_pattern
from cdc_lakehouse.engine.steps import Ask, Plan
from cdc_lakehouse.errors import LakehouseError

# The column of silver.row_images that tells all names of the table.
SOURCE_TABLE = "source_table"


def key_tells_table(model: GoldModel) -> bool:
    """Tell whether rows of two source tables never have the same key.

    They do not if the key has the names of the table, or all that the stars of its one pattern
    match.
    """
    expressions = expressions_of(model.sql)
    key = [expressions[name] for name in model.key_names if name in expressions]
    told = [[SOURCE_TABLE]]
    if len(model.source_names) == 1:
        told.append(stars_of(model.source_names[0]))
    wanted = ([sqlglot.parse_one(each, read=Spark4) for each in parts] for parts in told if parts)
    return any(all(each in key for each in parts) for parts in wanted)


def refuses_shared_keys(model: GoldModel) -> bool:
    """Tell whether a run of the model fails if rows of two source tables have the same key.

    By default a pattern refuses such keys. A list of names declares its tables to be one, as after
    a rename.
    """
    has_star = any(stars_of(name) for name in model.source_names)
    default = "refuse" if has_star or reads_by_pattern(model.sql) else "merge"
    is_refused = (model.options.on_shared_key or default) == "refuse"
    return is_refused and not key_tells_table(model)


def refuse_shared_keys(table: GoldTable, changes: str, found: Changes) -> Plan[None]:
    """Refuse to merge rows of two source tables that have the same key.

    A key stays that of its table after a delete and a TRUNCATE: positions in the logs of two
    sources do not tell which change is the later one, and neither does the order of delivery.

    Args:
        changes: the query of the new changes, their values typed.
        found: where their keys can be.

    Raises:
        LakehouseError: there are some. Nothing is written, so that a later run reads the same.
    """
    model = table.model
    if not refuses_shared_keys(model):
        return
    for key, tables, keys in (yield Ask(sql.shared_keys(changes, table, found))):
        others = f" and {keys - 1:,} more keys are" if keys > 1 else " is"
        raise LakehouseError(
            f"{table.view}: the key {key}{others} of several source tables, and its key does not "
            f"tell them apart: {', '.join(tables)}. Nothing was merged, and nothing is lost. If "
            "they are different rows, add the table to the key: `source_table as shard` in "
            f"{model.name}.sql, and in its YAML the column shard and "
            f"`{{type: primary_key, columns: [shard, {', '.join(model.key_names)}]}}`. If they are "
            "one row, as after a rename, set on_shared_key='merge': then the last change wins."
        )
