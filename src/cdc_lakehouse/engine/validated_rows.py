"""The SQL that applies the rules of a gold table to its rows, and adds derived columns.

It is part of a view of the merged rows. So a rule depends on the merged row alone, however the
changes were delivered, and changing a rule rebuilds no table.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from cdc_lakehouse.engine.columns import KEPT_COLUMNS, Column, listed
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.rules import Derived, Rule
from cdc_lakehouse.engine.typed_values import NO_PROBLEM
from cdc_lakehouse.sql import identifier, quoted

# Properties of the view of problems, and of the plain table: by which rules they were made.
RULES = "cdc_lakehouse.rules"
# A view keeps it: there a value that cannot be cast or divided is null, and no reader fails.
NULL_FOR_FAILURE = {"spark.sql.ansi.enabled": "false"}
IS_DELETED = Column("_is_deleted", "boolean", "_is_deleted")
PROBLEMS, VIOLATIONS = "_problems", "_violations"


def shown_columns(model: GoldModel) -> tuple[Column, ...]:
    """Return the columns that a model shows, in its order: derived ones stand as in its YAML."""
    left_out = {*KEPT_COLUMNS[model.kind], "_is_version"}
    shown = [c for c in model.stored if c.name not in left_out]
    for derived in model.row_rules.derived:
        before = [place for place, column in enumerate(shown, 1) if column.name == derived.after]
        shown.insert(before[0] if before else 0, derived.column)
    return (*shown, IS_DELETED) if model.options.shows_deleted else tuple(shown)


@dataclass(frozen=True)
class ValidatedRows:
    """The steps from the merged rows of a model to those that it shows, each a list of a SELECT.

    Derived columns, then the verdict of each rule, then the columns that are null for one, then
    derived columns again, from what is left; at the end the columns in their order.
    """

    model: GoldModel

    @property
    def digest(self) -> str:
        """A name for all that decides what is shown; empty if every row is, as it is stored.

        The table's definition is a part of it: these views name the columns of the table.
        """
        if not self.model.row_rules:
            return ""
        steps = (self.derived, self.verdicts, self.mended, self.shown, self.is_held)
        return hashlib.md5("\n".join([self.model.definition, *steps]).encode()).hexdigest()

    @property
    def _rules(self) -> tuple[Rule, ...]:
        return self.model.row_rules.rules

    @property
    def _derived(self) -> tuple[Derived, ...]:
        return self.model.row_rules.derived

    @property
    def derived(self) -> str:
        """The merged row with its derived columns."""
        return ",\n    ".join(["*", *map(_value, self._derived)])

    @property
    def verdicts(self) -> str:
        """The row with the verdict of each rule: whether the row breaks it."""
        said = [
            f"({rule.expression}\n    ) <=> false as {_verdict(place)}"
            for place, rule in enumerate(self._rules)
        ]
        return ",\n    ".join(["*", *said])

    @property
    def mended(self) -> str:
        """The row with what rules say of it, and without what they make null."""
        nulled = [c for c in self.model.values if self._verdicts_on(c.name)]
        again = [each.column for each in self._derived] if nulled else []
        left_out = ", ".join(column.sql for column in (*nulled, *again))
        everything = f"* except ({left_out})" if left_out else "*"
        values = [f"{self._unless_null(column)} as {column.sql}" for column in nulled]
        broken = [self._violation(place, rule) for place, rule in enumerate(self._rules)]
        problems = [*map(_unfit, self._derived), *broken]
        nothing = f"array({NO_PROBLEM})"
        said = f"array_except(array(\n    {', '.join([NO_PROBLEM, *problems])}\n    ), {nothing})"
        return ",\n    ".join([everything, *values, f"{said} as {VIOLATIONS}"])

    @property
    def derived_again(self) -> str:
        """The same with derived columns of what is left."""
        is_nulled = any(self._verdicts_on(column.name) for column in self.model.values)
        return self.derived if is_nulled else "*"

    @property
    def shown(self) -> str:
        """The columns that the model shows, in their order."""
        derived = {each.column.name for each in self._derived}

        def said(column: Column) -> str:
            if column.name == PROBLEMS:
                return f"concat({PROBLEMS}, {VIOLATIONS}) as {PROBLEMS}"
            if column.name in derived and self._verdicts_on(column.name):
                return f"{self._unless_null(column)} as {column.sql}"
            return column.sql

        return listed(shown_columns(self.model), said)

    @property
    def is_held(self) -> str:
        """Whether the row is held back."""
        return _any_of(self._verdicts("hold")) or "false"

    def _verdicts(self, on_violation: str) -> list[tuple[int, Rule]]:
        placed = enumerate(self._rules)
        return [(place, rule) for place, rule in placed if rule.on_violation == on_violation]

    def _verdicts_on(self, column: str) -> list[tuple[int, Rule]]:
        """The rules that make a column null, with their places."""
        return [each for each in self._verdicts("null") if column in each[1].columns]

    def _unless_null(self, column: Column) -> str:
        return f"if({_any_of(self._verdicts_on(column.name))}, null, {column.sql})"

    def _violation(self, place: int, rule: Rule) -> str:
        """The entry of `_problems` for a broken rule: what the rule read, with the row's key."""
        read = [*self.model.key_names, *rule.reads]
        text = f"to_json(struct({', '.join(map(identifier, dict.fromkeys(read)))}))"
        return f"if({_verdict(place)}, {_problem(rule.columns, rule.name, text)}, null)"


def _verdict(place: int) -> str:
    return f"_breaks_{place}"


def _any_of(verdicts: Iterable[tuple[int, Rule]]) -> str:
    return " or ".join(_verdict(place) for place, _ in verdicts)


def _value(derived: Derived) -> str:
    column = derived.column
    return f"try_cast((\n    {derived.expression}\n    ) as {column.data_type}) as {column.sql}"


def _unfit(derived: Derived) -> str:
    """The entry of `_problems` for a derived column whose value its type cannot hold."""
    value = f"(\n    {derived.expression}\n    )"
    problem = _problem([derived.column.name], "out_of_range", f"cast({value} as string)")
    return f"if({derived.column.sql} is null and {value} is not null, {problem}, null)"


def _problem(columns: Iterable[str], code: str, text: str) -> str:
    names = list(columns)
    column = quoted(names[0]) if len(names) == 1 else "cast(null as string)"
    return f"named_struct('column', {column}, 'code', {quoted(code)}, 'text', {text})"
