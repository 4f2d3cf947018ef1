"""Write the gold models of source tables from what silver has seen of them."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.column_types import SeenType, column_types
from cdc_lakehouse.gold.value_types import Fit, fits_of_tables
from cdc_lakehouse.sql import quoted

CHANGES = """
    select
        database_name, schema_name, table_name, format, source_type, key_columns, column_types,
        sequence, operation in ('snapshot', 'insert', 'delete') as is_as_sent,
        coalesce(after, before) as image,
        coalesce(if(after is null, before_is_complete, after_is_complete), false) as is_complete
    from silver.events
    where kind = 'row_change'
"""
# Updates may be completed from the row before, which moves the columns that they changed.
TABLES = f"""
    select
        database_name, schema_name, table_name,
        max_by(
            map_keys(image),
            struct(is_complete, is_as_sent, if(is_complete, 0, size(image)), sequence)
        ) as newest_columns,
        max_by(key_columns, sequence) filter (where key_columns is not null) as key_columns
    from ({CHANGES})
    group by database_name, schema_name, table_name
    order by database_name, schema_name, table_name
"""
COLUMNS = f"""
    select
        database_name, schema_name, table_name, format, source_type, name,
        column_types[name] as type,
        bool_or(image[name] rlike '^[0-9]+-[0-9]{{2}}-[0-9]{{2}}[ T].*[1-9]') as has_clock
    from ({CHANGES}) lateral view posexplode(map_keys(image)) as place, name
    group by database_name, schema_name, table_name, format, source_type, name, column_types[name]
    order by min(struct(sequence, place)), name
"""
ANCHORS = """anchors:
  - &sequence {name: _sequence, data_type: string, description: "{{ doc('sequence') }}"}
  - &committed_at {name: _committed_at, data_type: timestamp, description: "{{ doc('committed_at') }}"}
  - &operation {name: _operation, data_type: string, description: "{{ doc('gold_operation') }}"}
  - &problems
    name: _problems
    data_type: "array<struct<column: string, code: string, text: string>>"
    description: "{{ doc('problems') }}"
  - &source_table {name: _source_table, data_type: string, description: "{{ doc('source_table') }}"}
  - &topic {name: _topic, data_type: string, description: "{{ doc('topic') }}"}
  - &partition {name: _partition, data_type: int, description: "{{ doc('partition') }}"}
  - &offset {name: _offset, data_type: bigint, description: "{{ doc('offset') }}"}
  - &row_number {name: _row_number, data_type: int, description: "{{ doc('row_number') }}"}
  - &bronze_version {name: _bronze_version, data_type: bigint, description: "{{ doc('bronze_version') }}"}

models:
"""  # noqa: E501
TESTS = ("changes_have_a_key", "source_columns_are_read", "values_fit_their_types")
# Words that a column may have as its name in Spark, but that readers of SQL stumble over.
RESERVED = """
    all and anti any as authorization both case cast check collate column constraint create cross
    current_date current_time current_timestamp current_user else end escape except false fetch
    filter for foreign from full grant group having in inner intersect into is join keys leading
    left natural not null on only or order outer overlaps pivot primary qualify references right
    select semi session_user some table then to trailing true union unique unknown user using
    when where window with
"""
# No database has longer names; a metastore, a file system and Jinja would each refuse them.
LONGEST_NAME = 255
# The hidden column that DataWorks sends of a table without a key.
ROW_ID = "#alibaba_rds_row_id#"
# What gold_storage has beside a table of gold, under its name and this.
VIEWS = ("_without_key", "_problems")
# What the materialization adds to a history.
HISTORY_COLUMNS = frozenset(("valid_from", "valid_to", "is_current"))


class KeylessTableError(LakehouseError):
    """A table whose messages name no key: a person has to name it."""


@dataclass(frozen=True)
class SourceTable:
    """A table as silver has seen it.

    `columns` are in the order of the newest whole row, `types` maps a column that messages give a
    type to its wording and the Spark type of `column_types`; `key` is None where no message names
    one or carries a row's id. `is_alone` tells whether no other schema of the database has a table
    of this name, `has_twin` whether another table differs from it only in upper and lower case.
    `fits` are the types that all values of columns fit that messages give no type.
    """

    database: str
    schema: str | None
    name: str
    columns: tuple[str, ...]
    types: dict[str, tuple[str, str]]
    key: tuple[str, ...] | None
    is_alone: bool = True
    has_twin: bool = False
    fits: dict[str, Fit] = field(default_factory=dict)

    def inferred(self) -> "SourceTable":
        """Return the table with the types that its values fit for those that messages lack."""
        types = {column: ("", fit.data_type) for column, fit in self.fits.items()}
        return replace(self, types=types | self.types)

    def __str__(self) -> str:
        parts = [part for part in (self.database, self.schema, self.name) if part is not None]
        return ".".join(p if re.fullmatch(r"[^.,`\s]+", p) else _in_backticks(p) for p in parts)


def seen_tables(spark: SparkSession) -> list[SourceTable]:
    """Return the tables that silver has row changes of.

    Raises:
        LakehouseError: there is no silver yet.
    """
    if not spark.catalog.tableExists("silver.events"):
        raise LakehouseError("There is no silver.events yet. Run `dbt build`.")
    found = defaultdict(list)
    for row in spark.sql(COLUMNS).collect():
        found[row[:3]].append(row)
    tables = spark.sql(TABLES).collect()
    fits = fits_of_tables(spark)
    names = [(row.database_name, row.table_name) for row in tables]
    lower_names = [_lower(row[:3]) for row in tables]
    seen = []
    for row in tables:
        columns = found[row[:3]]
        types = [
            SeenType(c.format, c.name, c.type, bool(c.has_clock), c.source_type)
            for c in columns
            if c.type is not None
        ]
        column_names = tuple(dict.fromkeys((*row.newest_columns, *(c.name for c in columns))))
        typed = {each.column for each in types}
        row_id = (ROW_ID,) if ROW_ID in column_names else None
        seen.append(
            SourceTable(
                *row[:3],
                columns=column_names,
                types=column_types(types, has_schema=row.schema_name is not None),
                key=tuple(row.key_columns) if row.key_columns else row_id,
                is_alone=names.count((row.database_name, row.table_name)) == 1,
                has_twin=lower_names.count(_lower(row[:3])) > 1,
                fits={
                    column: fit
                    for column, fit in fits.get(tuple(row[:3]), {}).items()
                    if column not in typed
                },
            )
        )
    return seen


def _lower(names: Iterable[str | None]) -> tuple[str | None, ...]:
    return tuple(name and name.lower() for name in names)


def find_table(tables: Sequence[SourceTable], named: str) -> SourceTable:
    """Return the table that a person names: DB.TABLE or DB.SCHEMA.TABLE.

    Args:
        named: parts with dots stand in backticks, a backtick in them is doubled.

    Raises:
        LakehouseError: silver has no such table, or one in each of several schemas.
    """
    parts = split_names(named, ".")
    if len(parts) == 3:
        matching = [t for t in tables if [t.database, t.schema, t.name] == parts]
    else:
        matching = [t for t in tables if [t.database, t.name] == parts]
        matching = [t for t in matching if t.schema is None] or matching
    if len(matching) > 1:
        several = ", ".join(map(str, matching))
        raise LakehouseError(f"{named} is in several schemas. Name one of them: {several}.")
    if matching:
        return matching[0]
    if not tables:
        raise LakehouseError("silver has no row changes yet, of no table. Land some messages.")
    names = sorted(map(str, tables))
    likeness = {n: SequenceMatcher(None, named.lower(), n.lower()).ratio() for n in names}
    closest = sorted(names, key=likeness.get, reverse=True)
    raise LakehouseError(
        f"silver has no row changes of {named}. It has those of {_listed(closest)}."
    )


def split_names(text: str, separator: str) -> list[str]:
    """Return the names in a text, each as it is or in backticks.

    Raises:
        LakehouseError: a name is empty or its backticks are not closed.
    """
    name = rf"(?:`(?:[^`]|``)+`|[^`{re.escape(separator)}]+)"
    if not re.fullmatch(rf"{name}(?:{re.escape(separator)}{name})*", text, re.DOTALL):
        raise LakehouseError(
            f"{text!r} are no names with {separator!r} between them. A name that holds one "
            "stands in backticks: `a.b`."
        )
    names = re.findall(name, text, re.DOTALL)
    return [n[1:-1].replace("``", "`") if n[0] == "`" else n for n in names]


class Gold:
    """The gold models of a project, as files."""

    def __init__(self, project_dir: Path):
        self.project_dir = project_dir
        self.folder = project_dir / "models" / "gold"
        self.models = {path: path.read_text() for path in sorted(self.folder.glob("*/*.sql"))}
        files = [*project_dir.glob("models/**/*.sql"), *project_dir.glob("seeds/**/*.csv")]
        self.taken = {path.stem.lower(): path for path in files}
        for path in self.folder.glob("*/*.yml"):
            self.taken = {**dict.fromkeys(_described(path), path), **self.taken}

    def reader_of(self, table: SourceTable, is_history: bool = False) -> Path | None:
        """Return the model that reads a table, None if there is none."""
        for path, sql in self.models.items():
            is_of_kind = bool(re.search(r"materialized\s*=\s*['\"]history['\"]", sql)) is is_history
            if is_of_kind and _reads(sql, table):
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
            is_read = " and ".join(str(self._short(p)) for p in (there, history_there) if p)
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
                where = self._short(self.taken[model])
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
                lines.append(f"{table}: {self._short(there)} is there already")
                continue
            try:
                lines.append(self.add(table, history=history, infer=infer))
            except KeylessTableError as error:
                command = f"lakehouse add-table {shlex.quote(str(table))} --key A,B"
                keyless.append(f"{table}: not added. {error} Type: {command}")
            except LakehouseError as error:
                failures += 1
                lines.append(f"{table}: not added. {error}")
        return [*lines, *keyless] or ["silver has no row changes yet, of no table."], failures

    def _checked_key(self, table: SourceTable, key: Sequence[str] | None) -> Sequence[str]:
        columns = _listed(table.columns, 40)
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
            where = f"it is that of {self._short(path)}" if path else "a table of gold has it"
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
        yaml_text = yaml_path.read_text() if yaml_path.exists() else ""
        joined = f"{yaml_text.rstrip()}\n{entry}" if yaml_text else ANCHORS + entry
        if not _holds(joined, yaml_text, entry):
            # The folder's file does not end with a list of models that knows the anchors.
            yaml_path, joined = folder / f"_{model}.yml", ANCHORS + entry
        folder.mkdir(parents=True, exist_ok=True)
        with open(path, "x") as file:
            file.write(sql)
        yaml_path.write_text(joined)
        self.models[path], self.taken[model] = sql, path
        to_do = "" if is_history else self._list_problems_of(model)
        columns = f"{len(table.columns)} columns, key {', '.join(key)}{_lack_of_types(table)}"
        return f"{table}: {self._short(path)} and {yaml_path.name}, {columns}{to_do}"

    def _list_problems_of(self, model: str) -> str:
        """Add a model to the list of gold_problems.sql; return what is left to do, if anything."""
        path = self.folder / "gold_problems.sql"
        if not path.exists():  # a project may do without
            return ""
        sql = with_problems_of(path.read_text(), model)
        if sql is None:
            return (
                f". {self._short(path)} has no list `problems_of([ref('...'), ...])`: add "
                f"ref('{model}') where it names the tables"
            )
        path.write_text(sql)
        return ""

    def _short(self, path: Path) -> Path:
        return path.relative_to(self.project_dir)


def with_problems_of(sql: str, model: str) -> str | None:
    """Return the text of gold_problems.sql with a model in its list; None if it has no list."""
    listed = re.search(r"problems_of\(\s*\[(.*?)\]", sql, re.DOTALL)
    if not listed:
        return None
    refs = list(re.finditer(r"(\s*)ref\(\s*['\"](\w+)['\"]\s*\)", listed[1]))
    if model in (ref[2] for ref in refs):
        return sql
    entry, place = f"ref('{model}')", listed.start(1)
    before = [ref for ref in refs if ref[2] < model]
    if before:
        place += before[-1].end()
        entry = f",{before[-1][1] or ' '}{entry}"
    elif refs:
        place += refs[0].end(1)
        entry = f"{entry},{refs[0][1] or ' '}"
    return sql[:place] + entry + sql[place:]


def gold_names(columns: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """Return of each source column the name that it can have in Delta, dbt and this project.

    Names that start with _ are the project's own, and case does not tell columns apart in Spark.
    Of several that become the same, all but the first, or the one that is as it is, get a number.
    """
    columns = list(columns)
    safe = {name: re.sub(r"\W", "_", name.lower()).lstrip("_") or "column" for name in columns}
    names = {name: name for name in columns if safe[name] == name and name not in reserved}
    taken = {*names.values(), *reserved}
    for name in columns:
        if name not in names:
            numbered = (f"{safe[name]}_{number}" for number in range(2, len(taken) + 3))
            candidates = (safe[name], *numbered)
            names[name] = next(each for each in candidates if each not in taken)
            taken.add(names[name])
    return names


def model_sql(table: SourceTable, names: dict[str, str], is_history: bool) -> str:
    """Return the text of a model's SQL file."""
    lines = ["{{ config(materialized='history') }}\n"] if is_history else []
    lines += ["select", "    {{ change_columns() }},"]
    for column in table.columns:
        text, data_type = f"image[{_literal(column)}]", _data_type(table, column)
        if data_type == "binary":
            text = f"unhex({text})"
        elif data_type != "string":
            text = f"try_cast({text} as {data_type})"
        name = _in_backticks(names[column]) if _needs_backticks(names[column]) else names[column]
        comma = "" if column == table.columns[-1] else ","
        lines.append(f"    {text} as {name}{comma}{_comment(table, column)}")
    lines.append("from {{ ref('row_images') }}")
    conditions = [f"{name} = {_literal(value)}" for name, value in _place(table) if value]
    if table.schema is None and not table.is_alone:
        conditions.insert(1, "schema_name is null")
    where = f"where {' and '.join(conditions)}"
    if len(where) > 100:
        where = "where\n    " + "\n    and ".join(conditions)
    return "\n".join([*lines, where]) + "\n"


def model_yaml(
    table: SourceTable,
    names: dict[str, str],
    key: Sequence[str],
    model: str,
    is_history: bool,
) -> str:
    """Return the entry of a model in the YAML file of its folder."""
    key_names = [_scalar(names[name]) for name in key]
    row = _tidy(" and ".join(names[name] for name in key))
    source = _tidy(".".join(value for _, value in _place(table) if value))
    if is_history:
        says = f"Versions of the rows of {source}. One row per {row} and version."
    else:
        says = f"Rows of {source} as they are now. One row per {row}."
    lines = [
        f"  - name: {_scalar(model)}",
        f"    description: {_scalar(says)}",
        f"    constraints: [{{type: primary_key, columns: [{', '.join(key_names)}]}}]",
    ]
    if not is_history:  # whose values and keys are those of the table
        lines.append(
            "    data_tests: [changes_have_a_key, dropped_tables_have_no_rows,"
            " source_columns_are_read, values_fit_their_types]"
        )
    lines.append("    columns:")
    for column in table.columns:
        parts = [f"name: {_scalar(names[column])}"]
        if _needs_backticks(names[column]):
            parts.append("quote: true")
        parts.append(f"data_type: {_scalar(_data_type(table, column))}")
        source = [f"source: {_quoted(_for_jinja(column))}"] if names[column] != column else []
        inferred = ["inferred: true"] if _is_inferred(table, column) else []
        if source or inferred:
            parts.append(f"meta: {{{', '.join(source + inferred)}}}")
        word = _tidy(table.types[column][0]) if column in table.types else None
        kind = f", {word} in the source" if word else ", of no type in the messages"
        if inferred:
            kind += f"; this one is inferred from {_values(table.fits[column])}"
        parts.append(f'description: "Column `{_tidy(column)}`{kind}."')
        lines.append(f"      - {{{', '.join(parts)}}}")
    lines += [f"      - *{column}" for column in re.findall("&([a-z_]+)", ANCHORS)]
    return "\n".join(lines) + "\n"


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
    named = _listed([f"{c} ({table.fits[c].data_type})" for c in fitting])
    if any(_is_inferred(table, c) for c in fitting):
        return f"{said}; inferred from all values seen: {named}"
    return f"{said}: text. All values seen would fit {named}: --infer takes these types"


def _comment(table: SourceTable, column: str) -> str:
    fit = table.fits.get(column)
    if not fit:
        return ""
    if _is_inferred(table, column):
        return f"  -- inferred from {_values(fit)}; a text that it alters is in _problems"
    return f"  -- {fit.data_type} fits {_values(fit)}"


def _is_inferred(table: SourceTable, column: str) -> bool:
    return column in table.types and not table.types[column][0]


def _values(fit: Fit) -> str:
    return "the one value seen" if fit.texts == 1 else f"all {fit.texts:,} values seen"


def _described(path: Path) -> list[str]:
    """Return the names of the models that a YAML file describes."""
    try:
        return [model["name"] for model in yaml.safe_load(path.read_text())["models"] or ()]
    except yaml.YAMLError as error:
        raise LakehouseError(f"{path} is no YAML: {error}") from error
    except (TypeError, KeyError):  # it describes no models
        return []


def _case_of(table: SourceTable) -> str:
    """Return what tells the model of a table from that of a twin, whatever comes first."""
    name = "".join(part for part in (table.database, table.schema, table.name) if part)
    if not table.has_twin or name == name.lower():
        return ""
    return "_upper" if table.name == table.name.upper() else "_mixed"


def _place(table: SourceTable) -> list[tuple[str, str | None]]:
    return [
        ("database_name", table.database),
        ("schema_name", table.schema),
        ("table_name", table.name),
    ]


def _data_type(table: SourceTable, column: str) -> str:
    return table.types[column][1] if column in table.types else "string"


def _reads(sql: str, table: SourceTable) -> bool:
    """Tell whether the where clause of a model, which may list several tables, names a table."""
    return all(
        re.search(rf"\b{name}\s*(=|in\s*\([^)]*?)\s*{re.escape(_literal(value))}", sql)
        for name, value in _place(table)
        if value is not None and (name != "schema_name" or name in sql)
    )


def _holds(joined: str, before: str, entry: str) -> bool:
    """Tell whether YAML with an entry appended says what it said, and the entry."""
    try:
        expected = (yaml.safe_load(before) or {}) if before else yaml.safe_load(ANCHORS)
        found = yaml.safe_load(joined)
        added = yaml.safe_load(ANCHORS + entry)["models"]
    except yaml.YAMLError:
        return False
    return found == {**expected, "models": [*(expected.get("models") or []), *added]}


def _listed(names: Sequence[str], limit: int = 10) -> str:
    more = f", and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


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


def _in_backticks(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _needs_backticks(name: str) -> bool:
    return name in RESERVED.split() or not re.fullmatch("[a-z][a-z0-9_]*", name)


def _literal(text: str) -> str:
    """Return a text as a literal of Spark SQL that shows in an editor, and has no { for Jinja."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", _code_point, quoted(text))


def _code_point(match: re.Match) -> str:
    return f"\\u{ord(match[0]):04x}"


def _quoted(text: str) -> str:
    """Return a text as a double-quoted scalar of YAML."""
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", _code_point, quoted)


def _scalar(text: str) -> str:
    words = "null|true|false|yes|no|on|off"
    is_plain = re.fullmatch(r"[A-Za-z]([\w .]*\w\.?)?", text, re.ASCII)
    return text if is_plain and not re.fullmatch(words, text, re.I) else _quoted(text)


def _for_jinja(text: str) -> str:
    """Return a text that dbt, which renders what stands in YAML, renders to `text`."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text)


def _tidy(text: str) -> str:
    """Return a text for a description: short, and without signs that mean something somewhere."""
    tidy = re.sub(r"[^\w .,()'/+-]", "_", text)
    return tidy if len(tidy) <= 60 else f"{tidy[:57]}..."
