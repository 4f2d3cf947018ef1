"""Tell macros the source tables of gold models, and the names of their columns in the source."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.engine.columns import Column, column_of, derived_expression
from cdc_lakehouse.engine.former_names import columns_of_images, newest_names
from cdc_lakehouse.engine.row_images import row_images
from cdc_lakehouse.sql import quoted
from dbt.adapters.lakehouse.connections import short_errors


class Sources:
    """The tables and columns of sources as gold models name them."""

    def row_images(
        self,
        node: Mapping[str, Any],
        images: BaseRelation,
        names: Sequence[str],
        given: Mapping[str, Any],
    ) -> str:
        """Return the images of source tables as `from` of a model takes them.

        Args:
            node: the model as dbt has it: its YAML tells which columns were renamed.
            images, names, given: as of `engine.row_images`.
        """
        with short_errors():
            return row_images(images, names, given, columns_of_images(_columns_of(node)))

    def names(self, relation: BaseRelation, nodes: Iterable[dict[str, Any]]) -> str:
        """Return the names that a gold model's columns have in the source, as a list in SQL.

        Args:
            nodes: those of dbt's graph, of which the model is one.
        """
        return ", ".join(quoted(column.source) for column in _columns_in(relation, nodes))

    def former_names(self, relation: BaseRelation, nodes: Iterable[dict[str, Any]]) -> str:
        """Return the former names of these columns, each before the newest, as a list in SQL."""
        newest = newest_names(_columns_in(relation, nodes))
        return ", ".join(quoted(name) for pair in newest.items() for name in pair)


def _columns_in(relation: BaseRelation, nodes: Iterable[dict[str, Any]]) -> list[Column]:
    """The columns of a gold model, which its relation tells from other nodes."""
    return [
        column
        for node in nodes
        if node["resource_type"] == "model"
        and (node["schema"], node["alias"]) == (relation.schema, relation.identifier)
        for column in _columns_of(node)
    ]


def _columns_of(node: Mapping[str, Any]) -> list[Column]:
    """The columns of a model's YAML that a change fills."""
    described = node["columns"].values()
    return [column_of(each) for each in described if derived_expression(each) is None]
