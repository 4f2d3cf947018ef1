"""The rules and the derived columns of a gold model, as its YAML declares them.

A rule is a constraint of dbt: `check` with a name and an expression, or `not_null`. A derived
column has its expression in `meta: {derived: ...}`. Both are functions of the merged row.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from cdc_lakehouse.engine.columns import SHOWN_ONLY, Column, column_of, derived_expression
from cdc_lakehouse.engine.materializations import kind_of
from cdc_lakehouse.engine.projection import Spark4
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import identifier

POLICIES = ("keep", "null", "hold")
# What `_problems` and gold_problems say of values, changes and tables: no rule has such a name.
CODES_OF_VALUES = ("altered", "invalid", "loses_digits", "not_carried", "out_of_range", "zero_date")
OTHER_CODES = ("column_gone", "ignored_truncate", "missing_key")


@dataclass(frozen=True)
class Rule:
    """A condition on the merged row; a row breaks it for which it is false, not null.

    Attributes:
        columns: those that it is declared for, which `null` makes null.
        reads: those that its expression reads.
        on_violation: `keep` the row, make the columns `null`, or `hold` the row back.
    """

    name: str
    expression: str
    columns: tuple[str, ...]
    reads: tuple[str, ...]
    on_violation: str


@dataclass(frozen=True)
class Derived:
    """A column that is computed from others of the merged row.

    Attributes:
        after: the column before it in the YAML; None if it is the first.
        reads: the columns that its expression reads.
    """

    column: Column
    expression: str
    reads: tuple[str, ...]
    after: str | None


@dataclass(frozen=True)
class RowRules:
    """The rules and derived columns that are applied to a merged row when it is read."""

    rules: tuple[Rule, ...] = ()
    derived: tuple[Derived, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is anything to decide."""
        return bool(self.rules or self.derived)


NO_RULES = RowRules()


def read_rules(
    model: Mapping[str, Any], key: Collection[str], on_violation: str | Mapping[str, str]
) -> RowRules:
    """Return the rules and the derived columns of a model.

    Args:
        key: the names of the key's columns.
        on_violation: the option, for all rules or by the name of each.

    Raises:
        LakehouseError: one cannot be what its YAML says.
    """
    shown_only = SHOWN_ONLY[kind_of(model)]
    named = [c for n, c in model["columns"].items() if n not in shown_only and n[0] != "_"]
    stored = [column["name"] for column in named if derived_expression(column) is None]
    derived = tuple(_derived(model["name"], named, stored, key))
    known = [*stored, *(each.column.name for each in derived)]
    rules = tuple(_rules(model, known, key, on_violation))
    if isinstance(on_violation, Mapping):
        names = [rule.name for rule in rules]
        for name in on_violation:
            if name not in names:
                raise _refusal(
                    model["name"],
                    f"option on_violation: there is no rule {name}",
                    f"its rules are {', '.join(names) or 'none'}",
                )
    return RowRules(rules, derived)


def _derived(
    model: str, named: list[Mapping[str, Any]], stored: list[str], key: Collection[str]
) -> Iterator[Derived]:
    after = None
    for definition in named:
        expression, name = derived_expression(definition), definition["name"]
        if expression is not None:
            what = f"column {name}"
            if name in key:
                todo = "a key is what the source sends: take `derived` out"
                raise _refusal(model, f"{what} is derived and of the key", todo)
            reads = columns_read(model, what, str(expression), stored)
            yield Derived(column_of(definition), str(expression), reads, after)
        after = name


def _rules(
    model: Mapping[str, Any],
    known: list[str],
    key: Collection[str],
    on_violation: str | Mapping[str, str],
) -> Iterator[Rule]:
    seen: set[str] = set()
    for constraint, columns in _constraints(model):
        is_check = constraint["type"] == "check"
        name = constraint.get("name") or ""
        if is_check:
            expression = constraint.get("expression") or ""
        elif set(columns) <= set(key):
            continue  # a change without its key is not merged
        else:
            name = name or f"{'_and_'.join(columns)}_is_not_null"
            expression = " and ".join(f"{identifier(column)} is not null" for column in columns)
        if not name:
            todo = "give it a name, by which gold_problems counts the rows that break it"
            raise _refusal(model["name"], f"the check `{expression}` has no name", todo)
        what = f"rule {name}"
        if name.lower() in seen:
            raise _refusal(model["name"], f"two rules are called {name}", "rename one of them")
        if name in (*CODES_OF_VALUES, *OTHER_CODES):
            todo = "gold_problems has another meaning for this name: choose another"
            raise _refusal(model["name"], f"a rule is called {name}", todo)
        seen.add(name.lower())
        reads = columns_read(model["name"], what, expression, known)
        policy = on_violation
        if isinstance(on_violation, Mapping):
            policy = on_violation.get(name, POLICIES[0])
        if policy == "null":
            _refuse_null(model["name"], what, is_check, columns, key)
        yield Rule(name, expression, columns, reads, str(policy))


def _constraints(
    model: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Yield the constraints that are rules, those of columns first, with their columns."""
    for name, column in model["columns"].items():
        for constraint in column.get("constraints") or ():
            if constraint["type"] in ("check", "not_null"):
                yield constraint, (name,)
    for constraint in model.get("constraints") or ():
        if constraint["type"] in ("check", "not_null"):
            yield constraint, tuple(constraint.get("columns") or ())


def _refuse_null(
    model: str, what: str, is_check: bool, columns: tuple[str, ...], key: Collection[str]
) -> None:
    of_key = [column for column in columns if column in key]
    todo = "set on_violation of it to keep or hold"
    if not is_check:
        raise _refusal(model, f"{what}: null cannot mend a column that must not be null", todo)
    if not columns:
        raise _refusal(
            model,
            f"{what}: on_violation is null, and the rule is of no column",
            "declare it under the column that is to be null, or name `columns`",
        )
    if of_key:
        raise _refusal(model, f"{what}: {of_key[0]} is of the key and cannot be null", todo)


def columns_read(model: str, what: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that an expression reads, in its order.

    What only Spark can tell, such as its type, `check_expression` of the adapter looks at.

    Args:
        what: the rule or the column that it is of, for a person.
        known: the columns that it may read.

    Raises:
        LakehouseError: it is no expression of these columns alone.
    """
    if not text.strip():
        todo = "write a condition on columns of the model, such as `amount >= 0`"
        raise _refusal(model, f"{what}: its expression is empty", todo)
    found = _parsed(model, what, text)
    by_name = {name.lower(): name for name in known}
    for kind, said in _NOT_OF_ONE_ROW.items():
        if found.find(kind):
            todo = "it may read columns of one row only, with functions of their values"
            raise _refusal(model, f"{what}: `{text.strip()}` has {said}", todo)
    read: dict[str, None] = {}
    for column in found.find_all(exp.Column):
        name = column.parts[0].name
        if name.lower() not in by_name:
            todo = f"it may read {', '.join(by_name.values())}"
            raise _refusal(model, f"{what}: `{text.strip()}` reads the unknown column {name}", todo)
        read.setdefault(by_name[name.lower()])
    return tuple(read)


_NOT_OF_ONE_ROW = {
    exp.Query: "a subquery",
    exp.Window: "a window function",
    exp.AggFunc: "an aggregate function",
    exp.Star: "a star",
    exp.Alias: "an alias",
}


def _parsed(model: str, what: str, text: str) -> exp.Expr:
    try:
        # Spark's grammar for one column: what comes behind it, or opens too much, is refused.
        found = sqlglot.parse_one(f"select ({text}\n)", read=Spark4)
    except SqlglotError as error:
        said = str(error).partition("\n")[0].partition(". Line")[0]
        raise _refusal(
            model,
            f"{what}: `{text.strip()}` is no expression ({said})",
            "write one of Spark's SQL over columns of the model",
        ) from None
    selected = found.selects if isinstance(found, exp.Select) else []
    if len(selected) != 1 or not isinstance(selected[0], exp.Paren):
        todo = "write one expression, with its brackets closed"
        raise _refusal(model, f"{what}: `{text.strip()}` is not one expression", todo)
    inside: exp.Expr = selected[0].this
    return inside


def _refusal(model: str, found: str, todo: str) -> LakehouseError:
    return LakehouseError(f"{model}: {found}; {todo}.")
