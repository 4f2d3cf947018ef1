"""The steps of a run, as values; the adapter executes them one after another.

A plan is a generator that yields steps and is sent the answer to each. So a test can check the
decisions of a run with made-up answers, and `lakehouse plan` can print what a run would do.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.past import Mark

# How a run ends that had nothing to do, or was given a part of its sources only.
NOTHING_NEW, NOT_WRITTEN = "NOTHING NEW", "NOT WRITTEN"


@dataclass(frozen=True)
class Say:
    """Tell a person why the run does more than usual."""

    text: str


@dataclass(frozen=True)
class Name:
    """Give a query a name; it is analysed once, however often it is read.

    `comments` are those of its columns, which a table that is made of it gets.
    """

    view: str
    sql: str
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """Run a query and keep its rows under a name.

    A write plans its source twice, a MERGE many times; that of staged rows is nothing.
    """

    view: str
    sql: str


@dataclass(frozen=True)
class Keep:
    """Give rows that Python has worked out a name."""

    view: str
    schema: str
    rows: Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Ask:
    """Ask a question; it is answered with rows. `once`: several tables of a run ask the same."""

    sql: str
    once: bool = False


@dataclass(frozen=True)
class IsKnown:
    """Ask the metastore whether it knows a view; it is answered with a truth."""

    relation: BaseRelation


@dataclass(frozen=True)
class LookAt:
    """Ask Delta's log of a table; it is answered with a `TableState`, None if there is no table.

    `transaction`: the name under which it notes how far it has read its source. Without a name no
    mark is read, and a table without files counts as none.
    `columns`: those that it should have; without them none are compared.
    """

    table: BaseRelation
    transaction: str = ""
    columns: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class TableState:
    """A table that is there.

    Attributes:
        identifier: that of the table; one that is built again has another.
        mark: how far its rows have read what it is made from.
        lacking: the columns that it should have and has not; None if it differs in another way.
    """

    identifier: str
    properties: Mapping[str, str]
    mark: Mark
    lacking: Sequence[str] | None = ()


@dataclass(frozen=True)
class Expect:
    """Let Spark compile the queries that come, or interpret them where there is little to do.

    `changes`: how many are merged into `table`; None of all that silver has.
    """

    table: BaseRelation
    changes: int | None = None


@dataclass(frozen=True)
class Execute:
    """Run a statement that makes or drops a view or a function, sets properties, or writes a copy.

    `noted`: the view of which the run notes the text. `values`: settings for this statement.
    """

    sql: str
    noted: BaseRelation | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Remove:
    """Drop a table and its files."""

    table: BaseRelation


@dataclass(frozen=True)
class CheckContract:
    """Compare the columns of a query with those that the YAML of its model declares."""

    columns: Mapping[str, Mapping[str, Any]]
    sql: str


@dataclass(frozen=True)
class Commit:
    """Write a table, and note in the same commit up to which version it has read a source.

    Attributes:
        rebuild: whether the table gets other rows, and may read the same again.
        is_staged: whether a MERGE can read its source as it is.
        commit: the identifier of that version of the source; None if it is not known.
    """

    sql: str
    table: BaseRelation
    source: str
    version: int
    rebuild: bool = False
    is_staged: bool = False
    commit: str | None = None


@dataclass(frozen=True)
class Finish:
    """End without a commit: NOTHING_NEW or NOT_WRITTEN."""

    message: str


Reading: TypeAlias = Name | Stage | Keep | Ask | IsKnown | LookAt | Expect
Writing: TypeAlias = Execute | Remove | Commit
Step: TypeAlias = Reading | Writing | Say | CheckContract | Finish
# The result of a run of the steps.
Result = TypeVar("Result")
Plan: TypeAlias = Generator[Step, Any, Result]


def follow(plan: Plan[Result], do: Callable[[Step], Any]) -> Result:
    """Let `do` execute each step of a plan, and send the plan its answer."""
    answer = None
    while True:
        try:
            step = plan.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result
        answer = do(step)
