"""How a stored table gets the columns of a contract that has changed."""

from collections.abc import Collection, Mapping
from typing import Any


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
