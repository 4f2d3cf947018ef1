"""The OceanBase records of an .avsc."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from udfs._avro_reader import Reader, RepeatedPart, avro_reason, read_record, record_of
from udfs._avro_refused import Refused, checked_value
from udfs._avro_types import Types
from udfs._oceanbase_rows import IMAGES, MAY_BE_SHARDS, check_set, is_in_bytes, row_of, shard_of
from udfs._oceanbase_values import CONVERTERS, Converter, float_of_bytes

# Avro types (null aside) that the fields we read may have; a record is known by its fields, the
# values of images by the last part of their type's name. Namespaces are the user's.
_RECORD = {
    "id": "int long",
    "operation": "enum",
    "timestamp": "int long",
    "schemaName": "string",
    "tableName": "string",
    "fields": "array",
    "pkIndexes": "array",
    "beforeImages": "array",
    "afterImages": "array",
}
_OPTIONAL = {
    "xid": "string",
    "txind": "enum",
    "position": "string",
    "source": "record",
    "sql": "string",
    "total": "int",
    "index": "int",
    "beforeImageBytes": "bytes",
    "afterImageBytes": "bytes",
}
_VALUES: dict[str, dict[str, str]] = {
    "StringObject": {"value": "string"},
    "DecimalObject": {"value": "string"},
    "DateObject": dict.fromkeys(("year", "month", "day"), "int"),
    "TimeObject": {
        "negative": "boolean",
        **dict.fromkeys(("hours", "minutes", "seconds", "nanos"), "int"),
    },
    "DateTimeObject": dict.fromkeys(
        ("year", "month", "day", "hours", "minutes", "seconds", "nanos"), "int"
    ),
    "TimestampObject": {"seconds": "int long", "nanos": "int", "timezone": "string"},
    "BitObject": {"bit_length": "int", "value": "string"},
    "EnumSetValue": {"value": "string", "defines": "array"},
    "GeometryValue": {"wkb": "bytes"},
}
# The same four bytes as a float, but told from a double when it is read.
_FLOAT: dict[str, Any] = {"type": "fixed", "name": "float", "size": 4}


class Schema:
    """The OceanBase records of a schema's text. Raises ValueError if it describes none."""

    def __init__(self, text: str) -> None:
        types = Types(text)
        record = types.find_record(_RECORD, _OPTIONAL)
        fields = record["fields"]
        by_name = {field["name"]: field["type"] for field in fields}
        types.require(by_name.get("source", []), {"sourceType": "enum"})
        types.require(by_name["fields"], {"name": "string", "dataTypeNumber": "int long"})
        self._converters: dict[str, Converter] = {_FLOAT["name"]: float_of_bytes}
        self._arrays = {}
        for part, _ in IMAGES:
            self._arrays[part] = next(t for t in _branches(by_name[part]) if t != "null")
            columns = list(types.records_in(by_name[part]))
            if not columns:
                raise ValueError(f"{record['name']} lacks {part} (array of records)")
            for column in columns:
                self._prepare_values(types, column)
        self._reader = Reader(record, fields, types.named)
        self._peek = _Peek(record, types.named) if {"total", "index"} <= by_name.keys() else None

    def _prepare_values(self, types: Types, column: dict[str, Any]) -> None:
        types.require(column, {"type_info": "enum"})
        fields = (field for field in column["fields"] if field["name"] == "value")
        holder: dict[str, Any] = next(fields, {})
        if not isinstance(holder.get("type"), list):
            raise ValueError(f"{column['name']} lacks value (union)")
        for at, branch in enumerate(holder["type"]):
            if branch == "float":
                holder["type"][at] = _FLOAT
        for value in types.records_in(holder["type"]):
            kind = value["name"].rpartition(".")[2]
            if kind in CONVERTERS:
                self._converters[value["name"]] = CONVERTERS[kind]
                types.require(value, _VALUES[kind])

    def row(self, value: bytes) -> tuple[Any, ...]:
        """Return the row of one datum; Refused if it is none."""
        record, _ = self._reader.read(value)
        shard = shard_of(record)
        images: list[list[Any] | None] = [record[part] for part, _ in IMAGES]
        if shard is None and is_in_bytes(record):  # all of it in one shard
            images = self._images([record])
        elif shard:
            images = [None, None]
        return row_of(record, images, self._converters, shard)

    def assembled_row(self, values: Sequence[bytes]) -> tuple[Any, ...]:
        """Return the row of a record whose shards are `values`, in their order."""
        records = []
        for number, value in enumerate(values):
            try:
                records.append(self._reader.read(checked_value(value))[0])
                if shard_of(records[-1]) is None:
                    raise Refused("wrong_type", "it is no shard")
            except Refused as refused:
                code, detail = refused.args
                which = f"value {number + 1} of the {len(values)} shards"
                raise Refused(code, f"{which}: {detail}") from None
        check_set(records)
        header = next((record for record in records if record["fields"]), None)
        if header is None:
            raise Refused("wrong_type", f"none of the {len(values)} shards carries fields")
        return row_of(header, self._images(records), self._converters, None)

    def _images(self, records: Sequence[dict[str, Any]]) -> list[list[Any] | None]:
        images = []
        for part, raw in IMAGES:
            data = b"".join(record.get(raw, b"") for record in records)
            images.append(self._image(part, data) if data else None)
        return images

    def _image(self, part: str, data: bytes) -> list[Any]:
        stream = BytesIO(data)
        schema = {**self._reader.record, "fields": [{"name": part, "type": self._arrays[part]}]}
        try:
            image: list[Any] = read_record(stream, schema, None, return_named_type=True)[part]
        except Exception as error:  # noqa: BLE001 - bytes raise anything
            why = avro_reason(error)
            detail = f"{part}, {len(data)} bytes out of shards, cannot be read: {why}"
            raise Refused("not_avro", detail) from None
        if left := len(data) - stream.tell():
            detail = f"{left} of {len(data)} bytes are left over after {part} out of shards"
            raise Refused("not_avro", detail)
        return image

    def shard(self, value: bytes | None) -> tuple[int, int, int] | None:
        """Return (id, total, index) of a shard, None for any other record."""
        if self._peek is None or not value or self._peek.is_whole(value):
            return None
        record, _ = self._reader.read(value)
        total_and_index = shard_of(record)
        return total_and_index and (record["id"], *total_and_index)


def _branches(avro_type: Any) -> list[Any]:
    return avro_type if isinstance(avro_type, list) else [avro_type]


class _Peek:
    """Looks whether a record has an image in place, at a fraction of the cost of reading it: that
    needs the fields before the images, and most of them are the same in all records of a table."""

    def __init__(self, record: dict[str, Any], named: dict[str, Any]) -> None:
        fields = record["fields"]
        names = [field["name"] for field in fields]
        images = names.index("beforeImages")
        split = max(map(names.index, ("operation", "schemaName", "tableName"))) + 1
        nulls = [_null_branch(field["type"]) for field in fields[images : images + 2]]
        self._works = split <= images and names[images + 1 : images + 2] == ["afterImages"]
        self._works = self._works and None not in nulls
        self._nulls = bytes(null or 0 for null in nulls)
        self._row = record_of(record, fields[:split], named)
        self._table = RepeatedPart(record, fields[split:images], named)

    def is_whole(self, value: bytes) -> bool:
        """Return whether the record is no shard, False if only all of it can tell."""
        if not self._works:
            return False
        stream = BytesIO(value)
        row = read_record(stream, self._row, None)
        if row["operation"] not in MAY_BE_SHARDS:
            return True
        self._table.read(stream, value, (row["schemaName"], row["tableName"]))
        at = stream.tell()
        branch: int
        for branch, null in zip(value[at : at + 2], self._nulls, strict=False):
            if branch != null:
                return branch < 0x80  # beyond, null might be spelled in more bytes than it needs
        return False


def _null_branch(avro_type: Any) -> int | None:
    """The byte that says null in a union, None if there is none."""
    branches = list(_branches(avro_type))
    return 2 * branches.index("null") if len(branches) > 1 and "null" in branches else None
