"""The row of an OceanBase record, and what it says of its shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from udfs._avro_images import Image, check_length, completed, field_names, refused_column
from udfs._avro_refused import Refused
from udfs._oceanbase_values import PLAIN, Converter, unknown

# Images come in place, or as a part of their bytes.
IMAGES = (("beforeImages", "beforeImageBytes"), ("afterImages", "afterImageBytes"))
# None: whether later shards repeat the header is not documented.
MAY_BE_SHARDS = frozenset(("INSERT", "UPDATE", "DELETE", None))
MOST_SHARDS = 100_000


def is_in_bytes(record: dict[str, Any]) -> bool:
    return any(record.get(raw) for _, raw in IMAGES)


def shard_of(record: dict[str, Any]) -> tuple[int, int] | None:
    """Return (total, index) if the record is one shard of several, None if it is whole."""
    total, index = record.get("total", -1), record.get("index", -1)
    in_bytes = is_in_bytes(record)
    if total <= 1 and not in_bytes:
        return None
    if any(record[part] is not None for part, _ in IMAGES):
        if in_bytes:
            raise Refused("wrong_type", "it has images both in place and as bytes of a shard")
        return None
    operation = _bare(record["operation"])
    if operation not in MAY_BE_SHARDS:
        raise Refused("wrong_type", f"{operation} as shard {index} of {total}: no row to split")
    # Whether the first shard is 0 or 1 is not documented.
    if not (1 <= total <= MOST_SHARDS and 0 <= index <= total):
        raise Refused("wrong_type", f"it is shard {index} of {total}")
    return (total, index) if total > 1 else None


def check_set(records: Sequence[dict[str, Any]]) -> None:
    """Refuse shards that are not all shards of one record in their order."""
    first = records[0]
    for number, record in enumerate(records):
        if record["id"] != first["id"]:
            detail = f"shards of two records, id {first['id']} and {record['id']}"
            raise Refused("wrong_type", detail)
        if record["total"] != len(records) or record["index"] != first["index"] + number:
            found = ", ".join(f"{r['index']} of {r['total']}" for r in records[:10])
            raise Refused("wrong_type", f"not all shards of a record in order: {found}")


def _bare(value: Any) -> Any:
    """The value out of the (name, value) that a named branch of a union comes as."""
    return value[1] if type(value) is tuple else value


def row_of(
    record: dict[str, Any],
    images: Iterable[list[Any] | None],
    converters: Mapping[str, Converter],
    shard: tuple[int, int] | None,
) -> tuple[Any, ...]:
    operation = _bare(record["operation"])
    source = _bare(record.get("source"))
    fields = record["fields"]
    names = None if fields is None else field_names(fields)
    types = {f["name"]: str(f["dataTypeNumber"]) for f in fields} if fields else None

    read: list[Any] = []
    for (part, _), image in zip(IMAGES, images, strict=True):
        if image is None:
            read += None, None
        elif names is None:
            raise Refused("wrong_type", f"{part} of {operation} comes without fields")
        else:
            read += _image_of(image, names, part, converters, types or {})
    before, before_is_complete, after, after_is_complete = read
    after, after_is_complete = completed(
        operation, names, before, before_is_complete, after, after_is_complete
    )
    return (
        None,
        None,
        "oceanbase",
        operation,
        source and _bare(source["sourceType"]),
        record["id"],
        record["timestamp"],
        None,
        record.get("position"),
        record.get("xid") or None,
        _bare(record.get("txind")),
        record["schemaName"],
        None,
        record["tableName"],
        _key_columns(record["pkIndexes"], names),
        types,
        before,
        before_is_complete,
        after,
        after_is_complete,
        record.get("sql") or None,
        *(shard or (None, None)),
    )


def _key_columns(indexes: Sequence[int] | None, names: Sequence[str] | None) -> list[str] | None:
    if not indexes or names is None:
        return None
    for index in indexes:
        if not 0 <= index < len(names):
            detail = f"pkIndexes names column {index} of {len(names)} fields"
            raise Refused("wrong_type", detail)
    return [names[index] for index in indexes]


def _image_of(
    image: Sequence[Any],
    names: Sequence[str],
    part: str,
    converters: Mapping[str, Converter],
    types: dict[str, str],
) -> tuple[Image, bool]:
    """Return {column: canonical text} and whether every column of the row is in it; put the types
    that the image tells into `types`."""
    check_length(image, names, part)
    row: Image = {}
    name = None
    try:
        # Not strict: the end of an image may be missing.
        for name, column in zip(names, image):  # noqa: B905
            kind, value = column["type_info"], column["value"]
            if kind == "NULL":
                row[name] = None
                continue
            types[name] = kind
            if value is None:
                row[name] = None
            elif type(value) is tuple:
                branch, body = value
                row[name] = converters.get(branch, unknown)(body, kind)
            else:
                row[name] = PLAIN.get(type(value), unknown)(value, kind)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        raise refused_column(error, name, part) from None
    return row, len(image) == len(names)
