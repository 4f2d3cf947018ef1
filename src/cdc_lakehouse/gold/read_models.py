"""Find in the files of a project which source tables and columns its gold models read.

This does not ask dbt: a look at the lakehouse must not take minutes, nor need a project that
compiles. add-table, reconcile and the report ask this module. A run asks the engine, which applies
the same rules (`engine.source_tables`) to compiled SQL.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from jinja2 import ChainableUndefined, Environment, TemplateError

from cdc_lakehouse.engine.columns import formerly_of, key_names, source_of
from cdc_lakehouse.engine.materializations import HISTORY, gold_kind
from cdc_lakehouse.engine.projection import columns_read
from cdc_lakehouse.engine.row_images import row_images
from cdc_lakehouse.engine.source_tables import (
    IMAGES,
    SourceTable,
    tables_read,
)
from cdc_lakehouse.errors import LakehouseError

TEST = "source_columns_are_read"
NO_TABLE = SourceTable("\0", "\0", "\0")


@dataclass(frozen=True)
class ReadModel:
    """A gold model as its files have it.

    Attributes:
        name, file: of the model, and its SQL file from the project's folder.
        reads_table: tells whether it can read a table of the source.
        columns: the columns of the source that each of its columns is made from.
        excepted: those that its test of columns leaves out.
        key: the columns of its key.
        is_history: whether it keeps all versions.
        former: the former names of columns of the source that have some, by their newest.
        definitions: what its YAML says of each of its columns that the source has.
    """

    name: str
    file: str
    reads_table: Callable[[SourceTable], bool]
    columns: Mapping[str, Sequence[str]]
    excepted: frozenset[str]
    key: tuple[str, ...]
    is_history: bool = False
    former: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def reads_any_table(self) -> bool:
        """Whether its condition does not tell which tables it reads, as that of a join."""
        return self.reads_table(NO_TABLE)

    def reads(self, column: str) -> bool:
        """Tell whether one of its columns is made from one of the source, with others or not."""
        return any(column in made_from for made_from in self.columns.values())

    def needs(self, column: str) -> bool:
        """Tell whether one of its columns is made from nothing else than one of the source."""
        return [column] in map(list, self.columns.values())

    @property
    def source_key(self) -> list[str] | None:
        """The columns of the source that its key is; None if more than those make it."""
        names = [list(self.columns.get(column, ())) for column in self.key]
        return [name for (name,) in names] if names and all(len(n) == 1 for n in names) else None


def models_of(project: Path) -> list[ReadModel]:
    """Return the gold models of a project that read the changes of source tables."""
    folder = project / "models" / "gold"
    described = _described(folder)
    found = []
    for path in sorted(folder.glob("*/*.sql")):
        text = path.read_text(encoding="utf-8")
        if "row_images" in text:
            file = str(path.relative_to(project))
            found.append(model_of(path.stem, file, text, described.get(path.stem, {})))
    return found


def readers(models: Iterable[ReadModel], table: SourceTable) -> list[ReadModel]:
    """Return the models that read a table of the source."""
    return [model for model in models if model.reads_table(table)]


def names_of_columns(models: Iterable[ReadModel], columns: Iterable[str]) -> list[list[str]]:
    """Return all names that columns of the source have in images, the newest name of each first.

    Args:
        models: those that read their table.
        columns: each by one of its names.
    """
    known = [[newest, *former] for model in models for newest, former in model.former.items()]
    return [
        list(dict.fromkeys([*(n for names in known if column in names for n in names), column]))
        for column in columns
    ]


def is_open(
    models: Sequence[ReadModel], drift: str, column: str | None, previous_name: str | None
) -> bool | None:
    """Tell whether the models have yet to follow a change of a column in a table that they read.

    They follow a new column if one of them reads it, and a gone one if all can do without it. An
    exception of one model counts for all: a history has no test that could except a column.

    Args:
        models: those that read the table.
        drift: `new`, `vanished` or `renamed`; of another kind of change nothing can be told.
        column, previous_name: the names of the column now, or when it was seen last, and before.

    Returns:
        None if no model reads the table, or nothing can be told.
    """
    models = [model for model in models if not model.reads_any_table]
    if not models or column is None:
        return None
    excepted = frozenset[str]().union(*(model.excepted for model in models))
    is_read = column in excepted or any(model.reads(column) for model in models)
    gone = previous_name or "" if drift == "renamed" else column
    is_needed = gone not in excepted and any(model.needs(gone) for model in models)
    match drift:
        case "new":
            return not is_read
        case "vanished":
            return is_needed
        case "renamed":
            return not is_read or is_needed
    return None


def model_of(name: str, file: str, text: str, said: Mapping[str, Any]) -> ReadModel:
    """Return a gold model as its SQL and its YAML have it.

    Args:
        said: its entry in the YAML; nothing if there is none.
    """
    sql, options = rendered(text)
    columns = {
        column["name"]: column
        for column in said.get("columns") or ()
        if isinstance(column, dict) and not str(column.get("name", "_")).startswith("_")
    }
    traced = columns_read(sql)
    by_name = {each: traced.get(each, [source_of(column)]) for each, column in columns.items()}
    tests = said.get("data_tests") or ()
    excepted = [
        column
        for test in tests
        if isinstance(test, dict) and isinstance(test.get(TEST), dict)
        for column in (test[TEST].get("arguments") or test[TEST]).get("except") or ()
    ]
    return ReadModel(
        name,
        file,
        tables_read(sql),
        by_name,
        frozenset(map(str, excepted)),
        tuple(key_names(said, columns.values())),
        gold_kind(options.get("materialized")) == HISTORY,
        {source_of(c): former for c in columns.values() if (former := formerly_of(c))},
        columns,
    )


def _described(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The entries of models in the YAML files of a folder; nothing for a file that is no YAML."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("*/*.yml")):
        try:
            said = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError:
            continue
        models = said.get("models") if isinstance(said, dict) else None
        for model in models or ():
            if isinstance(model, dict) and "name" in model:
                found[str(model["name"])] = model
    return found


class _Null(ChainableUndefined):
    """A value that only dbt knows, such as a macro of the project or a variable; a null in SQL."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self

    def __str__(self) -> str:
        return "null"


def rendered(text: str) -> tuple[str, dict[str, Any]]:
    """The SQL of a model with names for its refs, and the options that it gives itself.

    It is empty, and can read every table, where its template or a name in it is none.
    """
    options: dict[str, Any] = {}

    def config(**given: Any) -> str:
        options.update(given)
        return ""

    environment = Environment(undefined=_Null)
    environment.globals = {
        "change_columns": lambda: "sequence as _sequence",
        "config": config,
        "ref": lambda *names: ".".join(IMAGES) if names[-1] == IMAGES[-1] else f"x.{names[-1]}",
        "row_images": lambda *names, **given: row_images(".".join(IMAGES), names, given),
    }
    try:
        return environment.from_string(text).render(), options
    except (TemplateError, LakehouseError):
        return "", options
