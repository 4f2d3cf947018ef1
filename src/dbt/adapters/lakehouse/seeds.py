"""Load a seed in one commit, and only if its file or its types have changed.

dbt-spark drops the table, makes an empty one and fills it. After a kill between these steps the
next `dbt run` would silently read topics without time zones. A commit costs a small run half a
second, and a seed seldom changes.
"""

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation
from dbt.flags import get_flags

from cdc_lakehouse.delta.commit import USER_METADATA, set_for_one_statement
from cdc_lakehouse.delta.log import last_user_metadata
from cdc_lakehouse.routes import FURTHER_COLUMNS
from dbt.adapters.lakehouse.tables import Tables, folder_of

if TYPE_CHECKING:
    import agate

ROUTES = "topics"  # the seed


class Seeds:
    """Seeds."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def forget_types(self, config: Any) -> dict[str, str] | None:
        """Forget the types of those columns of seeds/topics.csv that it may lack, and lacks.

        agate warns of each type whose column is not there: here that is as it should be.

        Returns:
            all types, to be remembered when the seed is loaded.
        """
        node: Any = getattr(config, "model", None)
        if getattr(node, "resource_type", None) != "seed" or node.name != ROUTES:
            return None
        types: dict[str, str] = node.config.column_types
        root = self.tables.adapter.config.project_root
        node.config.column_types = types_of(Path(root, node.original_file_path), types)
        return types

    def replace(
        self,
        relation: BaseRelation,
        table: "agate.Table",
        column_types: Mapping[str, str],
        file_format: str,
    ) -> str:
        """Give a seed the rows of its file, and return the statement that does it.

        The commit says which statement made it. While it is the table's last one, the table has
        these rows: nobody has changed them since.

        Args:
            column_types: those that the seed's YAML gives.
            file_format: the clause that says how it is stored.
        """
        columns = {
            self.tables.adapter.quote(name): column_types.get(
                name, self.tables.adapter.convert_type(table, place)
            )
            for place, name in enumerate(table.column_names)
        }
        bindings = [value for row in table.rows for value in row]
        sql = _replacing(relation, columns, len(table.rows), file_format)
        said = f"seed {hashlib.sha256(repr((sql, bindings)).encode()).hexdigest()}"
        path = folder_of(relation)
        is_there = self.tables.exists(relation) and last_user_metadata(path) == said
        if not is_there or get_flags().FULL_REFRESH:
            with set_for_one_statement(self.tables.spark, {USER_METADATA: said}):
                self.tables.adapter.add_query(sql, bindings=bindings or None, abridge_sql_log=True)
        return sql


def types_of(path: Path, types: Mapping[str, str]) -> dict[str, str]:
    """Return types of columns without those that a file of routes may lack, and lacks."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header = {name.strip() for name in next(csv.reader(file), [])}
    except (OSError, UnicodeDecodeError, csv.Error):
        return dict(types)  # dbt says what is wrong with it
    left_out = set(FURTHER_COLUMNS) - header
    return {name: text for name, text in types.items() if name not in left_out}


def _replacing(
    relation: BaseRelation, columns: Mapping[str, str], rows: int, file_format: str
) -> str:
    """Return the statement that gives a table columns and rows, with a %s for each value."""
    statement = f"create or replace table {relation}"
    if not rows:
        definition = ", ".join(f"{name} {data_type}" for name, data_type in columns.items())
        return f"{statement} ({definition}) {file_format}"
    row = f"({', '.join(f'cast(%s as {data_type})' for data_type in columns.values())})"
    values = ", ".join([row] * rows)
    names = ", ".join(columns)
    return f"{statement} {file_format} as select * from values {values} as seed ({names})"
