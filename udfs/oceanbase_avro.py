"""Decode records of OceanBase's data subscription (Avro) into one flat row.

`register` makes three SQL functions: `decode_oceanbase_avro(value binary, schema string)` for one
message, `oceanbase_shard(value, schema)` to find the messages that carry only a part of a record,
`assemble_oceanbase_avro(values array<binary>, schema)` for all parts of one. `decode`, `shard` and
`assemble` are the same in plain Python. Bytes that cannot be decoded give a row with `error_code`
and `error_detail`; nothing raises.
"""

import re
import struct
from datetime import datetime
from io import BytesIO
from zoneinfo import ZoneInfo

import pyarrow as pa
from fastavro import schemaless_reader

from udfs import _avro
from udfs._avro import (
    Reader,
    Refused,
    RepeatedPart,
    Types,
    avro_reason,
    characters,
    check_length,
    checked_value,
    completed,
    date_text,
    epoch_text,
    field_names,
    find_schema,
    float_text,
    guarded,
    plain_decimal,
    record_of,
    refused_column,
    register_decoder,
    remembered,
    time_text,
)

DEFAULT_SCHEMA = "avro/oceanbase_avro.avsc"

# None: whether later shards repeat the header is not documented.
_MAY_BE_SHARDS = frozenset(("INSERT", "UPDATE", "DELETE", None))

SHARD_TYPE = "id bigint, total int, `index` int"
MOST_SHARDS = 100_000


def register(spark, project_dir):
    """Register `decode_oceanbase_avro`, `assemble_oceanbase_avro` and `oceanbase_shard`.

    `project_dir` is the folder that holds `avro/`. Every `avro/*.avsc` is read and parsed here,
    on the driver, and travels with the functions.
    `schema` is a path relative to `project_dir`, null means avro/oceanbase_avro.avsc. A file that
    is not an OceanBase schema is no error here; it is one for the messages that ask for it.
    """
    from pyspark.sql.functions import arrow_udf

    schemas = load_schemas(project_dir)

    def find_shards(values: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = zip(values.to_pylist(), paths.to_pylist(), strict=True)
        return shards_to_arrow([shard(value, path, schemas) for value, path in pairs])

    register_decoder(
        spark, "decode_oceanbase_avro", lambda value, path: decode(value, path, schemas)
    )
    register_decoder(
        spark, "assemble_oceanbase_avro", lambda values, path: assemble(values, path, schemas)
    )
    spark.udf.register("oceanbase_shard", arrow_udf(find_shards, SHARD_TYPE))


def load_schemas(project_dir):
    """Return {"avro/<file>": Schema} of `project_dir`; a file that cannot serve as an OceanBase
    schema maps to the sentence that says why."""
    return _avro.load_schemas(project_dir, Schema, "an OceanBase schema")


def decode(value, path, schemas):
    """Decode one Kafka value (bytes or None); return a tuple in the order of COLUMNS.

    `path` names the schema in `schemas` (see `load_schemas`); None means
    avro/oceanbase_avro.avsc. source_timestamp is in seconds. A shard, one of several messages
    that make up a record, has shard_total and shard_index set and no images.
    Never raises. Error codes: empty_value, unknown_schema, not_avro (the bytes are no such
    record), wrong_type (a record whose parts do not fit), not_text.
    """
    return guarded(_decode, value, path, schemas)


def _decode(value, path, schemas):
    return _schema(path, schemas).row(checked_value(value))


def assemble(values, path, schemas):
    """Decode a record that came in shards: all of its values in the order of their index. Rows,
    errors and arguments otherwise as of `decode`."""
    return guarded(_assemble, values, path, schemas)


def _assemble(values, path, schemas):
    return _schema(path, schemas).assembled_row(checked_value(values))


def shard(value, path, schemas):
    """Return (id, total, index) of a value that `decode` gives as a shard, None for any other."""
    try:
        return _schema(path, schemas).shard(value)
    except Exception:  # noqa: BLE001 - what is wrong with it, decode says
        return None


def shards_to_arrow(shards):
    """Return what `shard` returns as a pyarrow StructArray of SHARD_TYPE."""
    kind = pa.struct([("id", pa.int64()), ("total", pa.int32()), ("index", pa.int32())])
    names = "id", "total", "index"
    return pa.array([found and dict(zip(names, found, strict=True)) for found in shards], kind)


def _schema(path, schemas):
    return find_schema(schemas, DEFAULT_SCHEMA if path is None else path)


# ---------------------------------------------------------------------------- schema

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
_VALUES = {
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
_FLOAT = {"type": "fixed", "name": "float", "size": 4}
_IMAGES = (("beforeImages", "beforeImageBytes"), ("afterImages", "afterImageBytes"))


class Schema:
    """The OceanBase records of a schema's text. Raises ValueError if it describes none."""

    def __init__(self, text):
        types = Types(text)
        record = types.find_record(_RECORD, _OPTIONAL)
        fields = record["fields"]
        by_name = {field["name"]: field["type"] for field in fields}
        types.require(by_name.get("source", []), {"sourceType": "enum"})
        types.require(by_name["fields"], {"name": "string", "dataTypeNumber": "int long"})
        self._converters = {_FLOAT["name"]: _float}
        self._arrays = {}
        for part, _ in _IMAGES:
            self._arrays[part] = next(t for t in _branches(by_name[part]) if t != "null")
            columns = list(types.records_in(by_name[part]))
            if not columns:
                raise ValueError(f"{record['name']} lacks {part} (array of records)")
            for column in columns:
                self._prepare_values(types, column)
        self._reader = Reader(record, fields, types.named)
        self._peek = _Peek(record, types.named) if {"total", "index"} <= by_name.keys() else None

    def _prepare_values(self, types, column):
        types.require(column, {"type_info": "enum"})
        holder = next((field for field in column["fields"] if field["name"] == "value"), {})
        if not isinstance(holder.get("type"), list):
            raise ValueError(f"{column['name']} lacks value (union)")
        for at, branch in enumerate(holder["type"]):
            if branch == "float":
                holder["type"][at] = _FLOAT
        for value in types.records_in(holder["type"]):
            kind = value["name"].rpartition(".")[2]
            if kind in _CONVERTERS:
                self._converters[value["name"]] = _CONVERTERS[kind]
                types.require(value, _VALUES[kind])

    def row(self, value):
        """Return the row of one datum; Refused if it is none."""
        record, _ = self._reader.read(value)
        shard = _shard_of(record)
        images = [record[part] for part, _ in _IMAGES]
        if shard is None and _is_in_bytes(record):  # all of it in one shard
            images = self._images([record])
        elif shard:
            images = None, None
        return _row(record, images, self._converters, shard)

    def assembled_row(self, values):
        """Return the row of a record whose shards are `values`, in their order."""
        records = []
        for number, value in enumerate(values):
            try:
                records.append(self._reader.read(checked_value(value))[0])
                if _shard_of(records[-1]) is None:
                    raise Refused("wrong_type", "it is no shard")
            except Refused as refused:
                code, detail = refused.args
                which = f"value {number + 1} of the {len(values)} shards"
                raise Refused(code, f"{which}: {detail}") from None
        _check_set(records)
        header = next((record for record in records if record["fields"]), None)
        if header is None:
            raise Refused("wrong_type", f"none of the {len(values)} shards carries fields")
        return _row(header, self._images(records), self._converters, None)

    def _images(self, records):
        images = []
        for part, raw in _IMAGES:
            data = b"".join(record.get(raw, b"") for record in records)
            images.append(self._image(part, data) if data else None)
        return images

    def _image(self, part, data):
        stream = BytesIO(data)
        schema = {**self._reader.record, "fields": [{"name": part, "type": self._arrays[part]}]}
        try:
            image = schemaless_reader(stream, schema, None, return_named_type=True)[part]
        except Exception as error:  # noqa: BLE001 - bytes raise anything
            why = avro_reason(error)
            detail = f"{part}, {len(data)} bytes out of shards, cannot be read: {why}"
            raise Refused("not_avro", detail) from None
        if left := len(data) - stream.tell():
            detail = f"{left} of {len(data)} bytes are left over after {part} out of shards"
            raise Refused("not_avro", detail)
        return image

    def shard(self, value):
        """Return (id, total, index) of a shard, None for any other record."""
        if self._peek is None or not value or self._peek.is_whole(value):
            return None
        record, _ = self._reader.read(value)
        total_and_index = _shard_of(record)
        return total_and_index and (record["id"], *total_and_index)


def _branches(avro_type):
    return avro_type if isinstance(avro_type, list) else [avro_type]


class _Peek:
    """Looks whether a record has an image in place, at a fraction of the cost of reading it: that
    needs the fields before the images, and most of them are the same in all records of a table."""

    def __init__(self, record, named):
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

    def is_whole(self, value):
        """Return whether the record is no shard, False if only all of it can tell."""
        if not self._works:
            return False
        stream = BytesIO(value)
        row = schemaless_reader(stream, self._row, None)
        if row["operation"] not in _MAY_BE_SHARDS:
            return True
        self._table.read(stream, value, (row["schemaName"], row["tableName"]))
        at = stream.tell()
        for branch, null in zip(value[at : at + 2], self._nulls, strict=False):
            if branch != null:
                return branch < 0x80  # beyond, null might be spelled in more bytes than it needs
        return False


def _null_branch(avro_type):
    """The byte that says null in a union, None if there is none."""
    branches = list(_branches(avro_type))
    return 2 * branches.index("null") if len(branches) > 1 and "null" in branches else None


# ---------------------------------------------------------------------------- shards


def _is_in_bytes(record):
    return any(record.get(raw) for _, raw in _IMAGES)


def _shard_of(record):
    """Return (total, index) if the record is one shard of several, None if it is whole."""
    total, index = record.get("total", -1), record.get("index", -1)
    in_bytes = _is_in_bytes(record)
    if total <= 1 and not in_bytes:
        return None
    if any(record[part] is not None for part, _ in _IMAGES):
        if in_bytes:
            raise Refused("wrong_type", "it has images both in place and as bytes of a shard")
        return None
    operation = _bare(record["operation"])
    if operation not in _MAY_BE_SHARDS:
        raise Refused("wrong_type", f"{operation} as shard {index} of {total}: no row to split")
    # Whether the first shard is 0 or 1 is not documented.
    if not (1 <= total <= MOST_SHARDS and 0 <= index <= total):
        raise Refused("wrong_type", f"it is shard {index} of {total}")
    return (total, index) if total > 1 else None


def _check_set(records):
    """Refuse shards that are not all shards of one record in their order."""
    first = records[0]
    for number, record in enumerate(records):
        if record["id"] != first["id"]:
            detail = f"shards of two records, id {first['id']} and {record['id']}"
            raise Refused("wrong_type", detail)
        if record["total"] != len(records) or record["index"] != first["index"] + number:
            found = ", ".join(f"{r['index']} of {r['total']}" for r in records[:10])
            raise Refused("wrong_type", f"not all shards of a record in order: {found}")


# ---------------------------------------------------------------------------- record to row


def _bare(value):
    """The value out of the (name, value) that a named branch of a union comes as."""
    return value[1] if type(value) is tuple else value


def _row(record, images, converters, shard):
    operation = _bare(record["operation"])
    source = _bare(record.get("source"))
    fields = record["fields"]
    names = None if fields is None else field_names(fields)
    types = {f["name"]: str(f["dataTypeNumber"]) for f in fields} if fields else None

    read = []
    for (part, _), image in zip(_IMAGES, images, strict=True):
        if image is None:
            read += None, None
        elif names is None:
            raise Refused("wrong_type", f"{part} of {operation} comes without fields")
        else:
            read += _image_of(image, names, part, converters, types)
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


def _key_columns(indexes, names):
    if not indexes or names is None:
        return None
    for index in indexes:
        if not 0 <= index < len(names):
            detail = f"pkIndexes names column {index} of {len(names)} fields"
            raise Refused("wrong_type", detail)
    return [names[index] for index in indexes]


def _image_of(image, names, part, converters, types):
    """Return {column: canonical text} and whether every column of the row is in it; put the types
    that the image tells into `types`."""
    check_length(image, names, part)
    row = {}
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
                row[name] = converters.get(branch, _unknown)(body, kind)
            else:
                row[name] = _PLAIN.get(type(value), _unknown)(value, kind)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        raise refused_column(error, name, part) from None
    return row, len(image) == len(names)


# ---------------------------------------------------------------------------- values to text
#
# Each takes (body, type_info) and returns text.


def _unknown(body, kind):
    raise Refused("wrong_type", f"{kind} in a branch that is not documented: {str(body)[:100]}")


def _number(value, _kind):
    return str(value)


def _boolean(value, _kind):
    return "1" if value else "0"


def _double(value, kind):
    return float_text(value, kind == "FLOAT")


def _float(body, _kind):
    return float_text(struct.unpack("<f", body)[0], is_single=True)


# What bytes of these would mean is not documented.
_NOT_BYTES = frozenset(
    (
        *("INTEGER", "LONG", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "BIT"),
        *("DATE", "TIME", "DATETIME", "TIMESTAMP", "ENUM", "SET"),
    )
)


def _bytes(value, kind):
    if kind == "STRING":
        return characters(value, "utf8")
    if kind in _NOT_BYTES:
        raise Refused("wrong_type", f"{len(value)} bytes for {kind}")
    return value.hex()


def _string(value, kind):
    return plain_decimal(value) if kind == "DECIMAL" else value


def _as_sent(body, _kind):
    return body["value"]


def _decimal(body, _kind):
    return plain_decimal(body["value"])


def _date(body, _kind):
    return date_text(body["year"], body["month"], body["day"])


def _time(body, _kind):
    text = time_text(body["hours"], body["minutes"], body["seconds"], body["nanos"], 9, 10**6)
    return "-" + text if body["negative"] and text.strip("0:.") else text


def _datetime(body, kind):
    clock = time_text(body["hours"], body["minutes"], body["seconds"], body["nanos"], 9, 24)
    return f"{_date(body, kind)} {clock}"


def _timestamp(body, _kind):
    """UTC, or with a zone its wall clock and its name. A zone that nobody knows here is given up
    for UTC, and the text says so: the moment is right, and no reader takes it for another."""
    seconds, nanos, zone = body["seconds"], body["nanos"], body["timezone"]
    if not zone:
        return epoch_text(seconds, nanos, 9)
    try:
        offset = _offset(zone)(seconds)
    except (TypeError, ValueError, OverflowError, OSError):
        return epoch_text(seconds, nanos, 9) + " UTC"
    return f"{epoch_text(seconds + offset, nanos, 9)} {zone}"


_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])([01]?[0-9]):?([0-5][0-9])?(?::?([0-5][0-9]))?|Z")
# Files of the machine among the zones: their meaning is not the sender's.
_LOCAL_ZONES = frozenset(("localtime", "posixrules", "Factory"))


@remembered
def _offset(zone):
    """Return what gives the offset of a zone for seconds since 1970, None for unknown zones."""
    if match := _OFFSET.fullmatch(zone):
        sign, hours, minutes, seconds = match.groups("0")
        offset = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
        return lambda _: -offset if sign == "-" else offset
    try:
        if zone in _LOCAL_ZONES:
            return None
        found = ZoneInfo(zone)
    except (LookupError, ValueError, OSError):
        return None
    return lambda seconds: int(datetime.fromtimestamp(seconds, found).utcoffset().total_seconds())


_NUMBER_OF_BITS = re.compile(r"0|[1-9][0-9]{0,19}")
_LITERAL_BITS = re.compile(r"(?:[bB]'([01]+)'|0b([01]+))")


def _bit(body, _kind):
    """Unsigned integer. The document does not say whether `value` holds bits or a number, but the
    two can be told: zeros and ones as many as bit_length are bits, since as a number they would
    need more bits (10 does not fit into two) or begin with a zero, which no number does.
    Anything shorter is a number, if it fits; the rest is refused."""
    length, text = body["bit_length"], body["value"]
    if literal := _LITERAL_BITS.fullmatch(text):
        number = int(literal[1] or literal[2], 2)
    elif len(text) == length and not text.strip("01"):
        number = int(text, 2)
    elif _NUMBER_OF_BITS.fullmatch(text):
        number = int(text)
    else:
        raise Refused("wrong_type", f"{text[:100]!r} is neither {length} bits nor a number")
    if number > 1 and number.bit_length() > length:
        raise Refused("wrong_type", f"{text[:100]!r} does not fit {length} bits")
    return str(number)


def _enum_or_set(body, kind):
    """The label(s). Digits are an ordinal (ENUM) or a mask of labels (SET), unless they are
    labels themselves."""
    text, labels = body["value"], body["defines"]
    if not labels or text in labels or not (text.isdecimal() and text.isascii()):
        return text
    if kind == "ENUM" and len(text) <= 10 and int(text) <= len(labels):
        return labels[int(text) - 1] if int(text) else ""  # 0 is what MySQL stores for no label
    if kind == "SET" and len(text) <= 20 and int(text).bit_length() <= len(labels):
        return ",".join(label for bit, label in enumerate(labels) if int(text) >> bit & 1)
    raise Refused("wrong_type", f"{text[:100]!r} is none of the {len(labels)} labels of {kind}")


def _geometry(body, _kind):
    return body["wkb"].hex()


_PLAIN = {bool: _boolean, int: _number, float: _double, bytes: _bytes, str: _string}
_CONVERTERS = {
    "StringObject": _as_sent,
    "DecimalObject": _decimal,
    "DateObject": _date,
    "TimeObject": _time,
    "DateTimeObject": _datetime,
    "TimestampObject": _timestamp,
    "BitObject": _bit,
    "EnumSetValue": _enum_or_set,
    "GeometryValue": _geometry,
}
