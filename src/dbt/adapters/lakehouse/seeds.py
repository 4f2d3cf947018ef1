"""Load a seed in one commit.

dbt-spark drops the table, makes an empty one and fills it: after a kill between these steps the
next `dbt run` would read topics without time zones, and say nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation

from dbt.adapters.lakehouse.tables import TablesAdapter

if TYPE_CHECKING:
    import agate


class SeedsAdapter(TablesAdapter):
    """Seeds."""

    @available.parse(lambda *args, **kwargs: "")
    def replace_seed(
        self,
        relation: BaseRelation,
        table: "agate.Table",
        column_types: Mapping[str, str],
        file_format: str,
    ) -> str:
        """Give a seed the rows of its file, and return the statement that does it.

        Args:
            column_types: those that the seed's YAML gives.
            file_format: the clause that says how it is stored.
        """
        self.exists(relation)
        columns = {
            self.quote(name): column_types.get(name, self.convert_type(table, place))
            for place, name in enumerate(table.column_names)
        }
        statement = f"create or replace table {relation}"
        if not len(table.rows):
            definition = ", ".join(f"{name} {data_type}" for name, data_type in columns.items())
            sql = f"{statement} ({definition}) {file_format}"
            self.execute(sql)
            return sql
        row = f"({', '.join(f'cast(%s as {data_type})' for data_type in columns.values())})"
        values = ", ".join([row] * len(table.rows))
        sql = (
            f"{statement} {file_format} as select * from values {values}"
            f" as seed ({', '.join(columns)})"
        )
        bindings = [value for row in table.rows for value in row]
        self.add_query(sql, bindings=bindings, abridge_sql_log=True)
        return sql
