"""Change a column in the files of a gold model, where they are as add-table writes them.

Text in another shape was written by a person: it is never changed, and the functions return None.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import yaml

from cdc_lakehouse.gold.model_sql import column_sql, image_of
from cdc_lakehouse.gold.model_yaml import meta_yaml, scalar, tidy

_META = re.compile(r"meta: \{[^{}]*\}, ")


@dataclass(frozen=True)
class GoldColumn:
    """A column of a model: its name and type, and the names that it has and had in the source."""

    name: str
    source: str
    data_type: str
    formerly: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """Its line in the model, without a comma."""
        return column_sql(self.source, self.data_type, self.name)

    @property
    def meta(self) -> dict[str, Any]:
        """The names in the source that its YAML gives."""
        source = {"source": self.source} if self.source != self.name else {}
        return source | ({"formerly": list(self.formerly)} if self.formerly else {})


def changed_sql(sql: str, before: GoldColumn, after: GoldColumn) -> str | None:
    """Return the SQL of a model in which a column is another one."""
    lines = sql.splitlines(True)
    number = _line_of(lines, before)
    if number is None:
        return None
    behind = lines[number].removeprefix(before.sql)
    lines[number] = after.sql + behind.replace(image_of(before.source), image_of(after.source))
    return "".join(lines)


def extended_sql(
    sql: str, columns: Iterable[GoldColumn], new: GoldColumn, comment: str
) -> tuple[str, str] | None:
    """Return the SQL of a model with one more column at its end, and the name of the last before.

    Args:
        columns: those of the model.
        comment: what stands behind the line.
    """
    lines = sql.splitlines(True)
    starts = [n for n, line in enumerate(lines) if line.startswith("from {{ row_images(")]
    for column in columns:
        number = _line_of(lines, column)
        if number is not None and [number + 1] == starts:
            lines[number] = f"{column.sql},{lines[number].removeprefix(column.sql)}"
            lines.insert(number + 1, f"{new.sql}{comment}\n")
            return "".join(lines), column.name
    return None


def _line_of(lines: list[str], column: GoldColumn) -> int | None:
    line = re.compile(rf"{re.escape(column.sql)},?(\s*--.*)?\s*")
    found = [number for number, text in enumerate(lines) if line.fullmatch(text)]
    return found[0] if len(found) == 1 else None


def changed_yaml(
    text: str, model: str, before: GoldColumn, after: GoldColumn, words: str
) -> str | None:
    """Return a YAML file in which a column of a model is another one.

    Args:
        words: how the description begins if it is add-table's.
    """

    kinds = "(.*? in the source|of no type in the messages)"
    begins = re.compile(re.escape(f"Column `{tidy(before.source)}`, ") + kinds)

    def change(line: str) -> str:
        old_type = f"data_type: {scalar(before.data_type)},"
        line = line.replace(old_type, f"data_type: {scalar(after.data_type)},", 1)
        if before.meta != after.meta:
            meta = (yaml.safe_load(line)[0].get("meta") or {}) | after.meta
            line = _META.sub("", line, count=1)
            line = line.replace("description: ", f"{meta_yaml(meta)}, description: ", 1)
        return begins.sub(words, line, count=1)

    def changed(column: Mapping[str, Any]) -> dict[str, Any]:
        meta = {**(column.get("meta") or {}), **after.meta}
        said = begins.sub(words, column.get("description") or "", count=1)
        new = {**column, "data_type": after.data_type, "description": said}
        return new | ({"meta": meta} if meta else {})

    return _edited(
        text,
        model,
        before.name,
        change,
        lambda columns, at: [*columns[:at], changed(columns[at]), *columns[at + 1 :]],
    )


def extended_yaml(text: str, model: str, last: str, line: str) -> str | None:
    """Return a YAML file with one more column of a model, behind that of a name."""
    (new,) = yaml.safe_load(line)
    return _edited(
        text,
        model,
        last,
        lambda there: f"{there}{line}\n",
        lambda columns, at: [*columns[: at + 1], new, *columns[at + 1 :]],
    )


def _edited(
    text: str,
    model: str,
    column: str,
    change: Callable[[str], str],
    expected: Callable[[list[Any], int], list[Any]],
) -> str | None:
    """Return a YAML file with a change of one line, if it then says what it has to, and no more."""
    lines, is_model, place = text.splitlines(True), False, None
    for number, line in enumerate(lines):
        if re.match(r" {0,3}\S", line) and not line.lstrip().startswith("#"):
            is_model = line.rstrip() == f"  - name: {scalar(model)}"
        is_column = is_model and re.fullmatch(r"      - \{name: .*\}\s*", line)
        if is_column and _parsed(line)[0].get("name") == column:
            place = number
    if place is None:
        return None
    before = yaml.safe_load(text)
    lines[place] = change(lines[place])
    edited = "".join(lines)
    wanted = deepcopy(before)
    for entry in wanted["models"]:
        if entry["name"] == model:
            at = [each["name"] for each in entry["columns"]].index(column)
            entry["columns"] = expected(entry["columns"], at)
    return edited if _parsed(edited) == wanted else None


def _parsed(text: str) -> Any:
    """The content of a text of YAML; nothing if it is no YAML."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return [{}]
