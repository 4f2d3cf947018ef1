"""The names of the tables, views and functions that belong to a gold model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.relation import RelationType

from cdc_lakehouse.engine.plain_table import SUFFIX
from cdc_lakehouse.sql import identifier


@dataclass(frozen=True)
class Function:
    """A function of SQL that gives the rows of a history at a moment."""

    schema: str
    name: str

    @property
    def identifier(self) -> str:
        """Its name, without that of its schema."""
        return identifier(self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.identifier}"


# A view or a function that a run makes beside a table.
Thing = TypeVar("Thing", BaseRelation, Function)


@dataclass(frozen=True)
class Made(Generic[Thing]):
    """A view of a gold table, or a function of its history.

    Attributes:
        statement: renders the statement that makes it, of the plan of the table.
        values: the settings of Spark with which it is made, which a view keeps.
    """

    relation: Thing
    statement: Callable[[Any], str]
    values: Mapping[str, str] = field(default_factory=dict)


def storage_of(view: BaseRelation) -> BaseRelation:
    """The table that is stored for a gold model: of the same name, in a schema beside."""
    path = {"schema": f"{view.schema}_storage"}
    stored: BaseRelation = view.incorporate(path=path, type="table")
    return stored


def plain_of(view: BaseRelation) -> BaseRelation:
    """The copy of the rows of a gold model that every Delta reader takes."""
    schema = f"{view.schema}{SUFFIX}"
    return view.create(schema=schema, identifier=view.identifier, type=RelationType.Table)


def function_of(view: BaseRelation, suffix: str) -> Function:
    """A function of a history, which has the name of its table."""
    return Function(str(view.schema), f"{str(view.identifier).removesuffix('_history')}_{suffix}")


def complete_of(view: BaseRelation) -> BaseRelation:
    """The view of a history's rows at the moment at which all tables are complete."""
    name = f"{str(view.identifier).removesuffix('_history')}_complete"
    found: BaseRelation = view.incorporate(path={"identifier": name}, type="view")
    return found


def beside(view: BaseRelation, suffix: str) -> BaseRelation:
    """A view beside the table that is stored for a gold model."""
    path = {"identifier": f"{view.identifier}_{suffix}"}
    found: BaseRelation = storage_of(view).incorporate(path=path, type="view")
    return found
