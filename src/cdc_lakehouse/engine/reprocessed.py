"""The source tables with changes that were processed again, with another result.

Gold cannot take back what it has merged, so it rebuilds its tables of these source tables. The
change log lists them in a property, as JSON: the names of each table and a version of
bronze.messages. Gold rebuilds its tables once the change log has read up to that version.
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
