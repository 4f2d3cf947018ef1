"""Write the YAML of gold models for add-table, and read that of existing files."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.model_sql import code_point, needs_backticks
from cdc_lakehouse.gold.source_tables import SourceTable
from cdc_lakehouse.gold.type_notes import type_note

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


def model_yaml(
    table: SourceTable,
    names: dict[str, str],
    key: Sequence[str],
    model: str,
    is_history: bool,
) -> str:
    """Return the entry of a model in the YAML file of its folder."""
    key_names = [scalar(names[name]) for name in key]
    row = tidy(" and ".join(names[name] for name in key))
    source = tidy(table.names.name)
    if is_history:
        says = f"Versions of the rows of {source}. One row per {row} and version."
    else:
        says = f"Rows of {source} as they are now. One row per {row}."
    lines = [
        f"  - name: {scalar(model)}",
        f"    description: {scalar(says)}",
        f"    constraints: [{{type: primary_key, columns: [{', '.join(key_names)}]}}]",
    ]
    if not is_history:  # whose values and keys are those of the table
        lines.append(
            "    data_tests: [changes_have_a_key, dropped_tables_have_no_rows,"
            " source_columns_are_read, values_fit_their_types]"
        )
    lines.append("    columns:")
    lines += [column_yaml(table, column, names[column]) for column in table.columns]
    lines += [f"      - *{column}" for column in re.findall("&([a-z_]+)", ANCHORS)]
    return "\n".join(lines) + "\n"


def column_yaml(table: SourceTable, column: str, name: str) -> str:
    """Return the line of a column of the source in the entry of a model."""
    parts = [f"name: {scalar(name)}"]
    if needs_backticks(name):
        parts.append("quote: true")
    parts.append(f"data_type: {scalar(table.data_type(column))}")
    meta: dict[str, Any] = {"source": column} if name != column else {}
    meta |= {"formerly": list(table.former[column])} if column in table.former else {}
    meta |= {"inferred": True} if table.is_inferred(column) else {}
    parts += [meta_yaml(meta)] if meta else []
    note = (
        type_note(table.types[column][0], table.data_type(column)) if column in table.types else ""
    )
    kind = f"; {note}" if note else ""
    if table.is_inferred(column):
        kind += f"; this one is inferred from {table.fits[column].values_seen()}"
    parts.append(f'description: "{source_words(table, column)}{kind}."')
    return f"      - {{{', '.join(parts)}}}"


def source_words(table: SourceTable, column: str) -> str:
    """Return how the description of a column begins: which of the source it is, and its type."""
    worded = table.types[column][0] if column in table.types else ""
    word = tidy(worded.replace("array<", "array of ").replace(">", ""))
    kind = f"{word} in the source" if word else "of no type in the messages"
    return f"Column `{tidy(column)}`, {kind}"


def meta_yaml(meta: Mapping[str, Any]) -> str:
    """Return what a column's YAML says of its source."""
    said = []
    if "source" in meta:
        said.append(f"source: {_quoted(_for_jinja(meta['source']))}")
    if "formerly" in meta:
        names = ", ".join(scalar(_for_jinja(name)) for name in meta["formerly"])
        said.append(f"formerly: [{names}]")
    if meta.get("inferred"):
        said.append("inferred: true")
    return f"meta: {{{', '.join(said)}}}"


def holds(joined: str, before: str, entry: str) -> bool:
    """Tell whether YAML with an entry appended says what it said, and the entry."""
    try:
        expected = (yaml.safe_load(before) or {}) if before else yaml.safe_load(ANCHORS)
        found = yaml.safe_load(joined)
        added = yaml.safe_load(ANCHORS + entry)["models"]
    except yaml.YAMLError:
        return False
    return bool(found == {**expected, "models": [*(expected.get("models") or []), *added]})


def described(path: Path, text: str | None = None) -> dict[str, Mapping[str, Any]]:
    """Return the models that a YAML file describes, each with what it says of it.

    Args:
        text: that of the file; None reads it.
    """
    try:
        models = yaml.safe_load(path.read_text() if text is None else text)["models"]
        return {model["name"]: model for model in models or ()}
    except yaml.YAMLError as error:
        raise LakehouseError(f"{path} is no YAML: {error}") from error
    except (TypeError, KeyError):  # it describes no models
        return {}


def _quoted(text: str) -> str:
    """Return a text as a double-quoted scalar of YAML."""
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", code_point, quoted)


def scalar(text: str) -> str:
    """Return a text as a scalar of YAML, in quotes where it needs them."""
    words = "null|true|false|yes|no|on|off"
    is_plain = re.fullmatch(r"[A-Za-z]([\w .]*\w\.?)?", text, re.ASCII)
    return text if is_plain and not re.fullmatch(words, text, re.I) else _quoted(text)


def _for_jinja(text: str) -> str:
    """Return a text that dbt, which renders what stands in YAML, renders to `text`."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text)


def tidy(text: str) -> str:
    """Return a text for a description: short, and without signs that mean something somewhere."""
    tidy = re.sub(r"[^\w .,()'/+-]", "_", text)
    return tidy if len(tidy) <= 60 else f"{tidy[:57]}..."
