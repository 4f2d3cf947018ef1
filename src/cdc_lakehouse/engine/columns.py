"""The columns of a gold table and of its stored table, and their names in SQL."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cdc_lakehouse.engine.materializations import kind_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import identifier, quoted

PROBLEMS = "array<struct<column: string, code: string, text: string>>"
NO_PROBLEMS = f"cast(array() as {PROBLEMS})"

# The columns of every gold row that describe the change that it comes from.
CHANGE_COLUMNS = {
    "_sequence": "string",
    "_committed_at": "timestamp",
    "_operation": "string",
    "_problems": PROBLEMS,
    "_source_table": "string",
    "_topic": "string",
    "_partition": "int",
    "_offset": "bigint",
    "_row_number": "int",
    "_bronze_version": "bigint",
}
# What the merge keeps beside the columns that a model shows. `_column_sequences` has the columns
# that are older than the row, with the sequence that wrote each; `_is_replaced` and `_fingerprint`
# tell changes with one sequence apart. `_is_whole`: the image of the change has every column that
# the source has, so that a column which is older than the row is gone.
MERGE_COLUMNS = {
    "_truncated_table": "string",
    "_column_sequences": "map<string, string>",
    "_is_whole": "boolean",
    "_is_replaced": "boolean",
    "_fingerprint": "bigint",
}
# An insert that is known to lack columns: its row had another key before, of which another message
# says that its row is gone.
IS_BEGUN_ELSEWHERE = "(_operation = 'insert' and _column_sequences is not null)"
# And that of a history: when silver had processed the first copy of the change.
KNOWN_AT = "_known_at"
KEPT_COLUMNS = {
    "current_state": MERGE_COLUMNS,
    "history": MERGE_COLUMNS | {KNOWN_AT: "timestamp"},
}
# The columns that tell whether a message says the same as it did.
IDENTITY = (
    *("_topic", "_partition", "_offset", "_row_number"),
    *("_sequence", "_fingerprint", "_committed_at"),
)
# The further columns of a history: the time in which each change was true.
VERSION_COLUMNS = {
    "valid_from": "timestamp",
    "valid_to": "timestamp",
    "is_current": "boolean",
    "_is_version": "boolean",
}
# Columns that a model's YAML may describe, though only its view has them.
SHOWN_ONLY = {"history": {"valid_from", "valid_to", "is_current"}, "current_state": {"_is_deleted"}}


@dataclass(frozen=True)
class Column:
    """A column of a gold table.

    `source` is the column of the source that it is of, under its newest name; `formerly` has the
    names that it had before, the newest first. `is_inferred`: its type was inferred from values, so
    that a value has to keep its text. `definition` is what dbt has of its YAML.
    """

    name: str
    data_type: str
    source: str
    is_inferred: bool = False
    formerly: tuple[str, ...] = ()
    definition: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def sql(self) -> str:
        """The column's name in SQL."""
        return identifier(self.name)

    @property
    def literal(self) -> str:
        """The column's name as a text in SQL."""
        return quoted(self.name)

    @property
    def doubt(self) -> str:
        """The name of the column that tells why its value may not be the source's."""
        return identifier(f"_doubt_of_{self.name}")

    @property
    def source_text(self) -> str:
        """The text that its value is made from."""
        return f"_image[{quoted(self.source)}]"

    @property
    def is_value(self) -> bool:
        """Whether the model fills it; other columns describe the change."""
        return not self.name.startswith("_")

    @property
    def kind(self) -> str:
        """Its type in small letters."""
        return self.data_type.lower()

    def comparable(self, row: str = "") -> str:
        """The column of a row as SQL can compare it: Spark has no equality for maps."""
        name = row + self.sql
        return f"to_json(struct({name}))" if "map<" in self.kind else name


def column_of(definition: Mapping[str, Any]) -> Column:
    """Return the column that a YAML defines."""
    return Column(
        definition["name"],
        definition["data_type"],
        source_of(definition),
        bool((definition.get("meta") or {}).get("inferred", False)),
        formerly_of(definition),
        definition,
    )


def source_of(definition: Mapping[str, Any]) -> str:
    """Return the name that a column of a YAML has in the source."""
    name: str = (definition.get("meta") or {}).get("source", definition["name"])
    return name


def formerly_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names that a column of a YAML had in the source before, the newest first.

    Raises:
        LakehouseError: they are no list of names.
    """
    given = (definition.get("meta") or {}).get("formerly") or []
    if not isinstance(given, list) or not all(isinstance(each, str) and each for each in given):
        raise LakehouseError(
            f"The column {definition['name']} has formerly: {json.dumps(given)}. It is a list of "
            "the names that the column had in the source: `meta: {formerly: [order_no]}`."
        )
    return tuple(given)


def _own(types: Mapping[str, str]) -> Iterator[Column]:
    for name, data_type in types.items():
        yield column_of({"name": name, "data_type": data_type})


def derived_expression(definition: Mapping[str, Any]) -> str | None:
    """Return the expression of a derived column of a YAML; None for any other column."""
    return (definition.get("meta") or {}).get("derived")


def gold_columns(model: Mapping[str, Any]) -> list[Column]:
    """Return the columns of a gold table that a change fills.

    What the model's YAML declares, then those of every gold row that the YAML does not repeat.
    """
    shown_only = SHOWN_ONLY[kind_of(model)]
    declared = [
        c
        for name, c in model["columns"].items()
        if name not in shown_only and derived_expression(c) is None
    ]
    further = {name: kind for name, kind in CHANGE_COLUMNS.items() if name not in model["columns"]}
    return [*map(column_of, declared), *_own(further)]


def stored_columns(columns: Iterable[Column], kind: str) -> list[Column]:
    """Return all columns of the table that is stored, the model's own values first."""
    further = (VERSION_COLUMNS if kind == "history" else {}) | KEPT_COLUMNS[kind]
    everything = [*columns, *_own(further)]
    return [c for c in everything if c.is_value] + [c for c in everything if not c.is_value]


def key_names(model: Mapping[str, Any], columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns that the primary_key constraints of a YAML name, of model and columns."""
    key = [
        name
        for constraint in model.get("constraints") or ()
        if constraint["type"] == "primary_key"
        for name in constraint.get("columns") or ()
    ]
    return key + [
        column["name"]
        for column in columns
        if any(each["type"] == "primary_key" for each in column.get("constraints") or ())
    ]


def primary_key(model: Mapping[str, Any]) -> list[str]:
    """Return the names of the key's columns, from the primary_key constraint of a model's YAML.

    Raises:
        LakehouseError: there is none, or it names a column that is not declared.
    """
    key = key_names(model, model["columns"].values())
    if not key:
        raise LakehouseError(
            f"{model['name']} has no key: rows cannot be merged without one. Add to its YAML "
            "`constraints: [{type: primary_key, columns: [...]}]`; a table without a key can use "
            "the row id that its format sends."
        )
    unknown = next((name for name in key if name not in model["columns"]), None)
    if unknown:
        raise LakehouseError(
            f"{model['name']}: the key column {unknown} is not among the columns of its YAML."
        )
    return key


def listed(columns: Iterable[Column], sql: Callable[[Column], str]) -> str:
    """Return what SQL says of each column, one a line."""
    return ",\n    ".join(map(sql, columns))


def names(columns: Iterable[Column], row: str = "") -> str:
    """Return the names of columns of a row as SQL lists them."""
    return ", ".join(row + column.sql for column in columns)


@dataclass(frozen=True)
class Key:
    """The columns of a gold table's key, in the order of its YAML and in that of its key."""

    columns: tuple[Column, ...]
    ordered: tuple[Column, ...]

    def names(self, row: str = "") -> str:
        """The names of the key's columns of a row."""
        return names(self.ordered, row)

    @property
    def as_one(self) -> str:
        """The key of a row as one value."""
        return f"struct({self.names()})"

    @property
    def is_known(self) -> str:
        """Whether no column of the key is null."""
        return " and ".join(f"{column.sql} is not null" for column in self.ordered)

    def is_that_of(self, row: str) -> str:
        """Whether a stored row has the key of another row."""
        return " and ".join(f"stored.{c.sql} <=> {row}.{c.sql}" for c in self.ordered)

    def text(self, row: str = "") -> str:
        """A text that no other key has."""
        parts = [
            f"base64({row}{c.sql})" if c.kind == "binary" else f"cast({row}{c.sql} as string)"
            for c in self.columns
        ]
        return f"to_json(array({', '.join([*parts, 'cast(null as string)'])}))"
