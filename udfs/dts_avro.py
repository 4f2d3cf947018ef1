"""Decode Alibaba DTS subscription records (Avro) into one flat row.

`register` makes `decode_dts_avro(value binary, schema string)` a SQL function; `decode` is the
same for one value in plain Python. Bytes that cannot be decoded give a row with `error_code` and
`error_detail`; nothing raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from udfs import _avro
from udfs._avro import find_schema, guarded, register_decoder
from udfs._avro_images import Image, check_length, completed, field_names, refused_column
from udfs._avro_reader import TableReader
from udfs._avro_refused import Refused, checked_value, remembered
from udfs._avro_types import Types
from udfs._dts_values import CONVERTERS, Context, Converter, fraction_digits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_SCHEMA = "avro/dts_avro.avsc"

ROW_OPERATIONS = frozenset(("INSERT", "UPDATE", "DELETE", "INIT"))


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `decode_dts_avro(value binary, schema string)` in the session `spark`.

    `project_dir` is the folder that holds `avro/`. Every `avro/*.avsc` is read and parsed here,
    on the driver, and travels with the function: workers need fastavro and pyarrow, but neither
    the files nor this module.
    `schema` is a path relative to `project_dir`, null means avro/dts_avro.avsc. A file that is
    not a DTS schema is no error here; it is one for the messages that ask for it.
    """
    schemas = load_schemas(_avro.OWN) | load_schemas(project_dir)
    register_decoder(spark, "decode_dts_avro", lambda value, path: decode(value, path, schemas))


def load_schemas(project_dir: Path) -> dict[str, Schema | str]:
    """Return {"avro/<file>": Schema} of `project_dir`; a file that cannot serve as a DTS schema
    maps to the sentence that says why."""
    return _avro.load_schemas(project_dir, Schema, "a DTS schema")


def decode(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    """Decode one Kafka value (bytes or None); return a tuple in the order of COLUMNS.

    `path` names the schema in `schemas` (see `load_schemas`); None means avro/dts_avro.avsc.
    Times are as sent: source_timestamp in seconds, born_timestamp in what the producer used.
    Never raises. Error codes: empty_value, unknown_schema, not_avro (the bytes are no such
    record), wrong_type (a record whose parts do not fit), unknown_charset, not_text (characters
    that are not text in their charset).
    """
    return guarded(_decode, value, path, schemas)


def _decode(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    schema = find_schema(schemas, DEFAULT_SCHEMA if path is None else path)
    return schema.row(checked_value(value))


# ---------------------------------------------------------------------------- schema

# Avro types (null aside) that the fields we read may have; a record is known by its fields, the
# values of images by the last part of their type's name. Namespaces are the user's.
_RECORD = {
    "id": "int long",
    "sourceTimestamp": "int long",
    "sourcePosition": "string",
    "sourceTxid": "string",
    "source": "record",
    "operation": "enum",
    "objectName": "string",
    "tags": "string_map",
    "fields": "string array",
    "beforeImages": "string array",
    "afterImages": "string array",
}
_VALUES: dict[str, dict[str, str]] = {
    "Integer": {"value": "string"},
    "Character": {"charset": "string", "value": "bytes"},
    "Float": {"value": "float double"},
    "Decimal": {"value": "string"},
    "Timestamp": {"timestamp": "int long", "millis": "int long"},
    "DateTime": dict.fromkeys(
        ("year", "month", "day", "hour", "minute", "second", "millis"), "int long"
    ),
    "TimestampWithTimeZone": {"value": "record", "timezone": "string"},
    "BinaryGeometry": {"value": "bytes"},
    "TextGeometry": {"value": "string"},
    "BinaryObject": {"type": "string", "value": "bytes"},
    "TextObject": {"type": "string", "value": "string"},
}


class Schema:
    """The DTS records of a schema's text. Raises ValueError if it describes none."""

    def __init__(self, text: str) -> None:
        types = Types(text)
        record = types.find_record(_RECORD)
        fields = record["fields"]
        by_name = {field["name"]: field["type"] for field in fields}
        types.require(by_name["source"], {"sourceType": "enum"})
        types.require(by_name["fields"], {"name": "string", "dataTypeNumber": "int long"})
        self._converters: dict[str, Converter] = {}
        for value in types.records_in([by_name["beforeImages"], by_name["afterImages"]]):
            kind = value["name"].rpartition(".")[2]
            if kind in CONVERTERS:
                self._converters[value["name"]] = CONVERTERS[kind]
                types.require(value, _VALUES[kind])
                if kind == "TimestampWithTimeZone":
                    types.require(value["fields"][0]["type"], _VALUES["DateTime"])
        # Records of older producers end before bornTimestamp, so it is read on its own.
        self._born = None
        if fields[-1]["name"] == "bornTimestamp" and fields[-1]["type"] == "long":
            self._born, fields = fields[-1], fields[:-1]
        self._reader = TableReader(record, fields, types.named, "fields", "objectName")

    def row(self, value: bytes) -> tuple[Any, ...]:
        """Return the row of one datum; Refused if it is none."""
        record, born = self._reader.read(value, self._born)
        return _row(record, born, self._converters)


# ---------------------------------------------------------------------------- record to row


def _row(
    record: dict[str, Any], born: int | None, converters: Mapping[str, Converter]
) -> tuple[Any, ...]:
    operation = record["operation"]
    source_type = record["source"]["sourceType"]
    position = record["sourcePosition"]
    tags = record["tags"]
    database, schema, table = _names(record["objectName"], tags)
    names, numbers, column_types = record["fields"].make(_columns)
    after_images = record["afterImages"]
    context = (source_type, fraction_digits(source_type, position))

    images: list[Any] = []
    for part in ("beforeImages", "afterImages"):
        image = record[part]
        if isinstance(image, list) and names is not None:
            images += _image(image, names, numbers, part, context, converters)
        elif image is not None and operation in ROW_OPERATIONS:
            lack = "is text" if isinstance(image, str) else "comes without fields"
            raise Refused("wrong_type", f"{part} of {operation} {lack}")
        else:
            images += None, None
    before, before_is_complete, after, after_is_complete = images
    after, after_is_complete = completed(
        operation, names, before, before_is_complete, after, after_is_complete
    )

    transaction = record["sourceTxid"]
    return (
        None,
        None,
        "dts",
        operation,
        source_type,
        record["id"],
        record["sourceTimestamp"],
        born or None,
        position,
        None if transaction in ("", "0") else transaction,
        None,
        database,
        schema,
        table,
        _key_columns(tags.get("pk_uk_info")),
        column_types,
        before,
        before_is_complete,
        after,
        after_is_complete,
        after_images if isinstance(after_images, str) else None,
        None,
        None,
    )


def _names(
    object_name: str | None, tags: Mapping[str, str]
) -> tuple[str | None, str | None, str | None]:
    """Split `db[.schema][.table]`; a dot inside a name is sent as the characters \\u002E."""
    object_name = object_name or ""
    parts = object_name.split(".") if object_name else []
    if len(parts) > 3:
        raise Refused("wrong_type", f"objectName {object_name[:200]!r} has {len(parts)} parts")
    if "\\u" in object_name:
        parts = [re.sub(r"\\u002E", ".", part, flags=re.IGNORECASE) for part in parts]
    database = parts[0] if parts else None
    schema = parts[1] if len(parts) == 3 else None
    table = parts[-1] if len(parts) > 1 else None
    # DRDS shards: the tags name the logical database and table, objectName the physical ones.
    return tags.get("l_db_name") or database, schema, tags.get("l_tb_name") or table


def _columns(
    part: dict[str, Any],
) -> tuple[list[str] | None, list[int] | None, dict[str, str] | None]:
    """Return names, type numbers and {name: type} of the columns, all None without a list."""
    fields = part["fields"]
    if not isinstance(fields, list):
        return None, None, None
    names, numbers = field_names(fields), [field["dataTypeNumber"] for field in fields]
    return names, numbers, dict(zip(names, map(str, numbers), strict=True)) or None


def _image(
    image: Sequence[Any],
    names: Sequence[str],
    numbers: Sequence[int],
    part: str,
    context: Context,
    converters: Mapping[str, Converter],
) -> tuple[Image, bool]:
    """Return {column: canonical text} and whether every column of the row is in it."""
    check_length(image, names, part)
    row: Image = {}
    is_complete = len(image) == len(names)
    name = None
    try:
        # Not strict: the end of an image may be missing.
        for name, number, value in zip(names, numbers, image):  # noqa: B905
            if value is None:
                row[name] = None
                continue
            branch, body = value
            if branch in converters:
                row[name] = converters[branch](body, number, context)
            elif body == "NULL":
                row[name] = None
            elif body == "NONE":  # not carried
                is_complete = False
            else:
                raise KeyError(branch)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        raise refused_column(error, name, part) from None
    return row, is_complete


@remembered
def _key_columns(info: str | None) -> list[str] | None:
    """Columns of the primary key out of `{"PRIMARY": ["id"], ...}`, None if there are none."""
    if info is None:
        return None
    try:
        key = json.loads(info)["PRIMARY"]
        "".join(key).encode()  # TypeError unless all are strings; no half surrogates for Arrow
    except (TypeError, ValueError, KeyError, RecursionError):
        return None
    return key if isinstance(key, list) and key else None
