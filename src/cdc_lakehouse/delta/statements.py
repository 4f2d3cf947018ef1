"""The statements that make a Delta table and write it, each of them one commit."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cdc_lakehouse.sql import identifier, quoted

# The metastore takes no comment of more than 256 characters, and a view has those of its table.
LONGEST_COMMENT = 250

# The constraints of dbt that a plain table is held to.
HELD = ("not_null", "check")

# A column as dbt has it of a YAML: its name, data_type, constraints and description.
Definition = Mapping[str, Any]


def names(columns: Iterable[str], prefix: str = "") -> str:
    """Return the names of columns as SQL lists them, each behind `prefix`."""
    return ", ".join(prefix + identifier(column) for column in columns)


def settings(properties: Mapping[str, str], cluster_by: Sequence[str] = ()) -> str:
    """Return the clauses that say by which columns a table is arranged, and its properties."""
    clauses = []
    if cluster_by:
        clauses.append(f"cluster by ({names(cluster_by)})")
    if properties:
        listed = ", ".join(f"'{name}' = {quoted(value)}" for name, value in properties.items())
        clauses.append(f"tblproperties ({listed})")
    return "\n".join(clauses)


def create_table(
    table: str,
    columns: Iterable[Definition],
    properties: Mapping[str, str],
    cluster_by: Sequence[str] = (),
) -> str:
    """Return the statement that makes an empty table, with its comments and constraints."""
    listed = ",\n    ".join(map(_definition, columns))
    return (
        f"create table {table} (\n    {listed}\n)\nusing delta\n{settings(properties, cluster_by)}"
    )


def replace_table(
    table: str,
    columns: Iterable[str],
    rows: str,
    properties: Mapping[str, str],
    cluster_by: Sequence[str] = (),
) -> str:
    """Return the statement that gives a table other rows and columns: readers see old or new."""
    return (
        f"create or replace table {table}\nusing delta\n{settings(properties, cluster_by)}\n"
        f"as select {names(columns)} from (\n{rows}\n)"
    )


def insert_rows(table: str, columns: Collection[str], rows: str) -> str:
    """Return the statement that appends rows, by the names of their columns."""
    listed = names(columns)
    return f"insert into {table} ({listed})\nselect {listed} from (\n{rows}\n)"


def add_columns(table: str, columns: Sequence[Definition], added: Collection[str]) -> str:
    """Return the statement that gives a table those of its columns that it lacks, in their places.

    Args:
        columns: all that it should have.
        added: the names of those that it lacks.
    """
    before = [None, *(column["name"] for column in columns)]
    listed = ", ".join(
        f"{_definition(column)} {f'after {identifier(previous)}' if previous else 'first'}"
        for column, previous in zip(columns, before, strict=False)
        if column["name"] in added
    )
    return f"alter table {table} add columns ({listed})"


def hold_to_constraints(table: str, columns: Iterable[Definition]) -> list[str]:
    """Return the statements that hold an existing table to the constraints of its columns.

    Delta cannot make a nullable column not nullable, so a check does. Constraints of other types
    have no effect here: see `constraints_without_effect`.
    """
    return [
        f"alter table {table} add constraint {_constraint(column, place)}"
        for column in columns
        for place, each in enumerate(column.get("constraints") or ())
        if each["type"] in HELD
    ]


def constraints_without_effect(columns: Iterable[Definition]) -> list[str]:
    """Return the constraints that `hold_to_constraints` leaves out, as COLUMN: TYPE."""
    return [
        f"{column['name']}: {each['type']}"
        for column in columns
        for each in column.get("constraints") or ()
        if each["type"] not in HELD
    ]


def drop_columns(table: str, columns: Iterable[str]) -> list[str]:
    """Return the statements that drop columns of a table without rewriting its files.

    For this, Delta has to map names to columns of files, which readers have to support.
    """
    return [
        set_properties(table, {"delta.columnMapping.mode": "name"}),
        f"alter table {table} drop columns ({names(columns)})",
    ]


def set_properties(table: str, properties: Mapping[str, str]) -> str:
    """Return the statement that sets properties of a table."""
    return f"alter table {table} set {settings(properties)}"


def commit_only(table: str) -> str:
    """Return a statement that changes no row and writes no file, but commits."""
    return f"update {table} set _sequence = _sequence where false"


def comment_of(column: Definition) -> str:
    """Return the comment of a column, cut between words if it is too long for one."""
    text = str(column.get("description") or "").strip()
    if len(text) <= LONGEST_COMMENT:
        return text
    return text[: LONGEST_COMMENT - 3].rsplit(" ", 1)[0] + "..."


def comments_of(columns: Iterable[Definition]) -> dict[str, str]:
    """Return the comments of columns, by their names; empty for those that have none."""
    return {column["name"]: comment_of(column) for column in columns}


def _constraint(column: Definition, place: int) -> str:
    """The name and the condition of one of a column's constraints."""
    constraint = column["constraints"][place]
    name = constraint.get("name") or f"{column['name']}_{constraint['type']}_{place + 1}"
    written = identifier(column["name"]) if column.get("quote") else column["name"]
    is_not_null = constraint["type"] == "not_null"
    condition = f"{written} is not null" if is_not_null else constraint["expression"]
    return f"{identifier(name)} check ({condition})"


def _definition(column: Definition) -> str:
    constraints = [each["type"] for each in column.get("constraints") or ()]
    comment = comment_of(column)
    return (
        f"{identifier(column['name'])} {column['data_type']}"
        + (" not null" if "not_null" in constraints else "")
        + (f" comment {quoted(comment)}" if comment else "")
    )
