"""Write the gold models of source tables from what silver has seen of them."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.model_sql import gold_names, model_sql, with_problems_of
from cdc_lakehouse.gold.model_yaml import ANCHORS, described, holds, model_yaml
from cdc_lakehouse.gold.project_files import ProjectFiles
from cdc_lakehouse.gold.read_models import model_of, models_of
from cdc_lakehouse.gold.source_tables import SourceTable, listed
from cdc_lakehouse.package import PACKAGE

# No database has longer names; a metastore, a file system and Jinja would each refuse them.
LONGEST_NAME = 255
# The suffixes of tables and views in gold_storage beside a table of gold.
VIEWS = ("_without_key", "_problems", "_judged", "_held", "_accounting")
# What the materialization adds to a history.
HISTORY_COLUMNS = frozenset(("valid_from", "valid_to", "is_current"))


class KeylessTableError(LakehouseError):
    """A table whose messages name no key: a person has to name it."""


@dataclass(frozen=True)
class Written:
    """A model that was written: the table that it reads, its files, its columns and its key."""

    table: str
    model: str
    file: str
    yaml: str
    columns: int
    key: list[str]
    is_history: bool


@dataclass(frozen=True)
class NotAdded:
    """A table of which no model was written, and why."""

    table: str
    reason: str


class Gold:
    """The gold models of a project, as files; `written` and `not_added` tell what has changed."""

    def __init__(self, project_dir: Path, files: ProjectFiles | None = None):
        self.project_dir = project_dir
        self.files = files or ProjectFiles(project_dir)
        self.written: list[Written] = []
        self.not_added: list[NotAdded] = []
        self.folder = project_dir / "models" / "gold"
        self.models = {project_dir / model.file: model for model in models_of(project_dir)}
        paths = [
            *PACKAGE.glob("models/silver/**/*.sql"),
            *project_dir.glob("models/**/*.sql"),
            *project_dir.glob("seeds/**/*.csv"),
        ]
        self.taken = {path.stem.lower(): path for path in paths}
        self.described_in = {
            model: path for path in self.folder.glob("*/*.yml") for model in described(path)
        }
        self.taken = {**self.described_in, **self.taken}

    def reader_of(self, table: SourceTable, is_history: bool = False) -> Path | None:
        """Return the model that reads a table by its names, None if there is none."""
        for path, model in self.models.items():
            is_named = model.reads_table(table.names) and not model.reads_any_table
            if is_named and model.is_history is is_history:
                return path
        return None

    def add(
        self,
        table: SourceTable,
        key: Sequence[str] | None = None,
        name: str | None = None,
        history: bool = False,
        infer: bool = False,
    ) -> str:
        """Write the model of a table, and that of its history if wanted, each unless it is there.

        Args:
            key: names of columns in the source; None takes the key that messages name.
            name: of the model; None takes that of the table, with the database where it is taken.
            infer: whether columns without a type get the one that their values fit.

        Returns:
            What was written, a line for each model.

        Raises:
            LakehouseError: nothing was written; the text says why.
        """
        there, history_there = (self.reader_of(table, is_history) for is_history in (False, True))
        if there and (not history or history_there):
            is_read = " and ".join(str(self.short(p)) for p in (there, history_there) if p)
            raise LakehouseError(
                f"{table} is there already: {is_read}. Edit that, or delete it with its entry in "
                "the YAML beside it."
            )
        _refuse_long_names(table)
        table = table.inferred() if infer else table
        key = self._checked_key(table, key or table.key)
        if there:
            name = there.stem
        else:
            name = self._checked_name(name, history) if name else self._free_name(table, history)
        wanted = [(name, False)] if not there else []
        wanted += [(f"{name}_history", True)] if history and not history_there else []
        for model, _ in wanted:
            if model in self.taken:
                where = self.short(self.taken[model])
                raise LakehouseError(f"The name {model} is taken, it is that of {where}.")
        return "\n".join(self._write(table, key, model, is_history) for model, is_history in wanted)

    def add_all(
        self, tables: Iterable[SourceTable], history: bool = False, infer: bool = False
    ) -> tuple[list[str], int]:
        """Write the models of the tables that none reads yet; go on where one cannot be written.

        Returns:
            What became of each table, a line each, those last that need their key named; how many
            could not be added for another reason.
        """
        lines, keyless, failures = [], [], 0
        for table in tables:
            there = self.reader_of(table)
            if there and (not history or self.reader_of(table, is_history=True)):
                lines.append(f"{table}: {self.short(there)} is there already")
                continue
            try:
                lines.append(self.add(table, history=history, infer=infer))
            except KeylessTableError as error:
                command = f"lakehouse add-table {shlex.quote(str(table))} --key A,B"
                self.not_added.append(NotAdded(str(table), str(error)))
                keyless.append(f"{table}: not added. {error} Type: {command}")
            except LakehouseError as error:
                failures += 1
                self.not_added.append(NotAdded(str(table), str(error)))
                lines.append(f"{table}: not added. {error}")
        return [*lines, *keyless] or ["silver has no row changes yet, of no table."], failures

    def _checked_key(self, table: SourceTable, key: Sequence[str] | None) -> Sequence[str]:
        columns = listed(table.columns, 40)
        if not key:
            raise KeylessTableError(
                f"No message of {table} names its key. Name it, --key A,B, out of the columns "
                f"{columns}."
            )
        for name in key:
            if name not in table.columns:
                raise LakehouseError(
                    f"The key column {name} is not among the columns of {table}: {columns}. "
                    "Name others: --key A,B."
                )
        return list(dict.fromkeys(key))

    def _checked_name(self, name: str, history: bool) -> str:
        if not re.fullmatch("[a-z][a-z0-9_]*", name):
            raise LakehouseError(
                f"{name!r} is no name for a model. Use lower-case letters, digits and _, a letter "
                "first."
            )
        if not self._is_free(name, history):
            path = self.taken.get(name)
            where = f"it is that of {self.short(path)}" if path else "a table of gold has it"
            raise LakehouseError(f"The name {name} is taken, {where}. Give another: --as NAME.")
        return name

    def _free_name(self, table: SourceTable, history: bool) -> str:
        parts = [_model_name(p) for p in (table.database, table.schema, table.name) if p]
        names = [parts[-1], f"{parts[0]}__{parts[-1]}"] if table.is_alone else [parts[-1]]
        names.append("__".join(parts))
        names = [f"{name}{_case_of(table)}" for name in names]
        names += [f"{names[-1]}_{number}" for number in range(2, 1000)]
        names = [f"table_{name}" if name[0].isdigit() else name for name in names]
        return next(name for name in names if self._is_free(name, history))

    def _is_free(self, name: str, history: bool) -> bool:
        needed = {name, f"{name}_history"} if history else {name}
        for suffix in VIEWS:
            needed |= {f"{name}{suffix}", name.removesuffix(suffix)}
        return not needed & self.taken.keys()

    def _write(self, table: SourceTable, key: Sequence[str], model: str, is_history: bool) -> str:
        names = gold_names(table.columns, HISTORY_COLUMNS if is_history else ())
        folder = self.folder / _model_name(table.database)
        path, yaml_path = folder / f"{model}.sql", folder / f"_{folder.name}.yml"
        sql = model_sql(table, names, is_history)
        entry = model_yaml(table, names, key, model, is_history)
        yaml_text = self.files.text(yaml_path) or ""
        joined = f"{yaml_text.rstrip()}\n{entry}" if yaml_text else ANCHORS + entry
        if not holds(joined, yaml_text, entry):
            # The folder's file does not end with a list of models that knows the anchors.
            yaml_path, joined = folder / f"_{model}.yml", ANCHORS + entry
        self.files.write(path, sql, is_new=True)
        self.files.write(yaml_path, joined)
        said = described(yaml_path, joined)[model]
        self.models[path] = model_of(model, str(self.short(path)), sql, said)
        self.taken[model], self.described_in[model] = path, yaml_path
        to_do = "" if is_history else self._list_problems_of(model)
        files = str(self.short(path)), str(self.short(yaml_path))
        self.written.append(
            Written(str(table), model, *files, len(table.columns), list(key), is_history)
        )
        columns = f"{len(table.columns)} columns, key {', '.join(key)}{_lack_of_types(table)}"
        return f"{table}: {self.short(path)} and {yaml_path.name}, {columns}{to_do}"

    def _list_problems_of(self, model: str) -> str:
        """Add a model to the list of gold_problems.sql; return what is left to do, if anything."""
        path = self.folder / "gold_problems.sql"
        text = self.files.text(path)
        if text is None:  # a project may do without
            return ""
        sql = with_problems_of(text, model)
        if sql is None:
            return (
                f". {self.short(path)} has no list `problems_of([ref('...'), ...])`: add "
                f"ref('{model}') where it names the tables"
            )
        self.files.write(path, sql)
        return ""

    def short(self, path: Path) -> Path:
        """Return the path of a file of the project from its folder, any other as it is."""
        is_own = path.is_relative_to(self.project_dir)
        return path.relative_to(self.project_dir) if is_own else path


def _lack_of_types(table: SourceTable) -> str:
    """Return what to know of columns that messages give no type, "" if there is nothing."""
    lacking = [c for c in table.columns if not table.types.get(c, ("",))[0]]
    fitting = [c for c in lacking if c in table.fits]
    if not fitting and len(lacking) < len(table.columns):
        return ""
    columns = f"{len(lacking)} column{'s' if len(lacking) > 1 else ''}"
    said = f". The messages name no type of {columns}"
    if not fitting:
        return f"{said}: text"
    named = listed([f"{c} ({table.fits[c].data_type})" for c in fitting])
    if any(table.is_inferred(c) for c in fitting):
        return f"{said}; inferred from all values seen: {named}"
    return f"{said}: text. All values seen would fit {named}: --infer takes these types"


def _case_of(table: SourceTable) -> str:
    """Return the suffix that tells the model of a table from that of its twin."""
    name = "".join(part for part in (table.database, table.schema, table.name) if part)
    if not table.has_twin or name == name.lower():
        return ""
    return "_upper" if table.name == table.name.upper() else "_mixed"


def _refuse_long_names(table: SourceTable) -> None:
    names = (table.database, table.schema or "", table.name, *table.columns)
    longest = max(names, key=len)
    if len(longest) > LONGEST_NAME:
        raise LakehouseError(
            f"{longest[:40]}... is a name of {len(longest):,} characters, and gold takes "
            f"{LONGEST_NAME}. Write a model by hand if it is none by mistake."
        )


def _model_name(text: str) -> str:
    """Return a name that Spark's catalog takes: ASCII letters, digits and _, not too many."""
    return re.sub("[^a-z0-9]+", "_", text.lower())[:40].strip("_") or "unnamed"
