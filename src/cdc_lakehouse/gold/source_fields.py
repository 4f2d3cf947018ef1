"""Find the source columns of each gold column, and which of them are protected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdc_lakehouse.engine.columns import SHOWN_ONLY
from cdc_lakehouse.engine.materializations import kind_of
from cdc_lakehouse.engine.projection import columns_read
from cdc_lakehouse.engine.protected_models import tables_named
from cdc_lakehouse.engine.rules import RowRules
from cdc_lakehouse.engine.source_tables import SourceTable, tables_read
from cdc_lakehouse.protection import Line, Protection


@dataclass(frozen=True)
class SourceFields:
    """The tables and columns of the source that a gold model reads.

    Attributes:
        tables: names (database, schema, table); None if its SQL does not name them by `=` or `in`.
        columns: the columns of the source by the model's; None where the SQL does not tell them.
    """

    tables: tuple[tuple[str, str | None, str], ...] | None
    columns: Mapping[str, Sequence[str] | None]

    @property
    def table_names(self) -> list[str]:
        """The names of the tables with dots between their parts; none if they are not known."""
        return [SourceTable(*names).name for names in self.tables or ()]

    def protecting(self, column: str, protection: Protection) -> list[Line]:
        """Return the lines that protect a column of the model.

        What is not known may be any: then each line counts that can be of it.
        """
        read = self.columns.get(column)
        groups = (
            [list(protection.lines)]
            if self.tables is None
            else [[x for x in protection.lines if x.is_of_table(*t)] for t in self.tables]
        )
        found: dict[Line, None] = {}
        for lines in groups:
            if read is None or self.tables is None:
                of_it = [x for x in lines if read is None or any(map(x.is_of_column, read))]
            else:
                first = (next((x for x in lines if x.is_of_column(name)), None) for name in read)
                of_it = [line for line in first if line is not None]
            found |= dict.fromkeys(of_it)
        return sorted(found, key=lambda line: line.number)


def fields_of(model: Mapping[str, Any], rules: RowRules, sql: str) -> SourceFields:
    """Return what the columns of a gold model are made from.

    Args:
        model: as dbt's manifest has it.
        rules: its rules and derived columns.
        sql: its query; empty if that is not known.
    """
    derived = {each.column.name: each.reads for each in rules.derived}
    further = SHOWN_ONLY[kind_of(model)]
    names = [n for n in model["columns"] if n[0] != "_" and n not in further and n not in derived]
    traced = columns_read(sql)
    columns: dict[str, Sequence[str] | None] = {name: traced.get(name) or None for name in names}
    for name, parts in derived.items():
        read = [columns[part] for part in parts]
        known = [found for found in read if found is not None]
        is_known = len(known) == len(read)
        columns[name] = sorted({each for found in known for each in found}) if is_known else None
    tables = tables_named(sql, tables_read(sql))
    return SourceFields(tuple(tables) if tables else None, columns)
