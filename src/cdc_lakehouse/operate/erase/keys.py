"""Read the keys of data subjects, and search texts for them."""

import csv
import hashlib
import json
import re
from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from pathlib import Path

from pyspark.sql import Column

from cdc_lakehouse.engine.source_tables import split_names
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.source_tables import SourceTable

Key = tuple[str, ...]


def read_keys(path: Path) -> list[dict[str, str]]:
    """Read data subjects from a CSV file whose header names the key's columns.

    Raises:
        LakehouseError: the file cannot be read, or a line has too few or too many fields.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            lines = [(reader.line_num, fields) for fields in reader if fields]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise LakehouseError(f"{path} cannot be read as CSV in UTF-8: {reason}.") from None
    for number, fields in lines:
        if len(fields) != len(header):
            raise LakehouseError(
                f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}."
            )
    if not lines or not all(all(fields) for _, fields in lines):
        raise LakehouseError(
            f"{path} names no key, or one without a value. Write a header of columns, then a "
            "line for each key."
        )
    return [dict(zip(header, fields, strict=True)) for _, fields in lines]


def read_key(parts: Sequence[str]) -> dict[str, str]:
    """Return the key that COLUMN=VALUE texts give; a column's name may stand in backticks.

    Raises:
        LakehouseError: a text has no `=`, or a column comes twice.
    """
    key: dict[str, str] = {}
    for part in parts:
        found = re.fullmatch(r"((?:`(?:[^`]|``)+`|[^`=]+))=(.*)", part, re.DOTALL)
        if not found:
            raise LakehouseError("--key is COLUMN=VALUE: no column's name stands before a `=`.")
        (name,) = split_names(found[1], "\0")
        if not found[2]:
            raise LakehouseError(f"--key gives the column {name} no value.")
        if name in key:
            raise LakehouseError(f"--key gives the column {name} twice. For several use a file.")
        key[name] = found[2]
    return key


def key_digest(table: SourceTable, columns: Sequence[str], key: Key) -> str:
    """Return what stands for a key in the audit."""
    named = json.dumps([str(table), sorted(zip(columns, key, strict=True))], ensure_ascii=False)
    return hashlib.blake2b(named.encode()).hexdigest()


def names_a_subject(text: Column, subjects: set[Key]) -> Column:
    """Whether a text, a character a byte, holds all parts of one of the keys."""
    conditions = [
        reduce(and_, [text.rlike(_pattern(part)) for part in key]) for key in sorted(subjects)
    ]
    return reduce(or_, conditions)


def file_holds(path: Path, subjects: set[Key]) -> bool:
    """Tell whether a file holds all parts of one of the keys."""
    text = path.read_bytes().decode("latin-1")
    return any(all(re.search(_pattern(part), text) for part in key) for key in subjects)


def _pattern(part: str) -> str:
    """Return a pattern of the bytes of a text that stands for itself: as in JSON, or as in Avro.

    Letters, digits and _ beside it make it another text, unless they are JSON's escapes. What
    cannot be told apart counts: one rejected message too many is better than one too few.
    """
    escaped = json.dumps(part)[1:-1]
    forms = {part, escaped, re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), escaped)}
    forms.add(json.dumps(part, ensure_ascii=False)[1:-1])
    texts = "|".join(sorted(_bytes_pattern(form.encode()) for form in forms))
    begins = r"(?:(?<![0-9A-Za-z_])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
    size = _bytes_pattern(_avro_long(len(part.encode())))
    return f"{begins}(?:{texts})(?![0-9A-Za-z_])|{size}{_bytes_pattern(part.encode())}"


def _bytes_pattern(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def _avro_long(number: int) -> bytes:
    """Return a count as Avro writes it before a text."""
    rest, encoded = number << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoded, rest])
