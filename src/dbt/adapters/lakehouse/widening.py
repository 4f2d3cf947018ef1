"""Find the columns of a stored gold table that get a wider type in place."""

from collections.abc import Mapping, Sequence

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.stored_columns import types_of_columns, types_of_schema
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_relations import beside, storage_of
from cdc_lakehouse.engine.rebuilds import DEFINITION
from cdc_lakehouse.engine.widening import Widened, unfit_values, widened_columns
from dbt.adapters.lakehouse.tables import Tables


def find_widened(
    tables: Tables, model: GoldModel, view: BaseRelation, properties: Mapping[str, str]
) -> tuple[Widened, ...]:
    """Return the columns of a table that get a wider type in place; none if it has to be rebuilt.

    Args:
        view: the relation that the model is.
        properties: those of the stored table.
    """
    storage, without_key = storage_of(view), beside(view, "without_key")
    stored = types_of_schema(tables.snapshot(storage).schema().json())
    wanted = types_of_columns(tables.spark, [column.definition for column in model.stored])
    found = widened_columns(model, stored, wanted, properties.get(DEFINITION))
    if not found or not tables.is_known(without_key):
        return ()
    unfit = unfit_values(str(storage), str(without_key), found, model.key_names)
    return () if tables.rows(unfit) else found


def named(widened: Sequence[Widened]) -> str:
    """Return the columns with both types, for a person."""
    return ", ".join(f"{w.column.name} from {w.stored} to {w.column.data_type}" for w in widened)
