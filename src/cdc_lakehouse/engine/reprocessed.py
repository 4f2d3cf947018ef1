"""The source tables of which changes were processed again with another result.

Gold cannot take back what it has merged, so its tables of these are built again. They are a
property of the change log: the names of each table, as JSON, and a version of bronze.messages.
Gold heeds a table once the change log has read so far.
"""

import json
from collections.abc import Iterable, Sequence

PROPERTY = "cdc_lakehouse.resettled"  # change logs have it under this name since 0.1.0


def read_tables(text: str | None) -> dict[str, int]:
    """Return the tables of the property's text, which may be missing."""
    tables: dict[str, int] = json.loads(text or "{}")
    return tables


def with_tables(text: str | None, tables: Iterable[Sequence[str | None]], version: int) -> str:
    """Return the property's text with further tables (database, schema, name) at a version."""
    return json.dumps(read_tables(text) | {json.dumps(list(table)): version for table in tables})
