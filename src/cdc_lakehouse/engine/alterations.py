"""Change a stored table in place: how its files are arranged, and the comments of its columns.

Each property is read from the table and from its model. If they differ, a statement alters the
table.
"""

import json
from collections.abc import Mapping, Sequence

from cdc_lakehouse.delta.statements import comments_of, names, set_properties
from cdc_lakehouse.engine.columns import Column
from cdc_lakehouse.sql import identifier, quoted

# The property of a stored table that names the columns by which it is arranged.
CLUSTERED_BY = "cdc_lakehouse.clustered_by"


def clustering(cluster_by: Sequence[str]) -> dict[str, str]:
    """Return the property of a table that is arranged by columns; none if it is not."""
    return {CLUSTERED_BY: json.dumps(list(cluster_by))} if cluster_by else {}


def alterations(
    table: str,
    schema: str,
    properties: Mapping[str, str],
    columns: Sequence[Column],
    cluster_by: Sequence[str],
) -> tuple[str, ...]:
    """Return the statements that make a table what its model says now; no row is written again.

    Args:
        schema: the table's, as Spark writes it in JSON.
        properties: those of the table.
        columns: those that it should have, with the definitions of their YAML.
    """
    stored = {each["name"]: each["metadata"] for each in json.loads(schema)["fields"]}
    comments = comments_of(column.definition for column in columns)
    changed = [
        f"{identifier(name)} comment {quoted(comment)}"
        for name, comment in comments.items()
        if name in stored and stored[name].get("comment", "") != comment
    ]
    found = [f"alter table {table} alter column {', '.join(changed)}"] if changed else []
    if json.loads(properties.get(CLUSTERED_BY, "[]")) != list(cluster_by):
        arranged = f"({names(cluster_by)})" if cluster_by else "none"
        found.append(f"alter table {table} cluster by {arranged}")
        noted = {CLUSTERED_BY: json.dumps(list(cluster_by))}
        found.append(set_properties(table, noted))
    return tuple(found)
