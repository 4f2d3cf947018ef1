"""What the bytes of a message say, read with Python's own JSON, fastavro and protobuf only."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO

from connect_protobuf import message_class
from fastavro import parse_schema, schemaless_reader
from google.protobuf.message import DecodeError

from encoders import ENCODERS


class Refused(Exception):
    """Bytes that no reader may take for a message of the format."""


class Number(str):
    """A number as it stands in the text."""


@dataclass
class Said:
    """One row of a message: `before` and `after` as they stand there, None if they do not.

    `table` is None where the message does not name it.
    """

    operation: str
    table: str | None
    before: dict | None
    after: dict | None


class Members(dict):
    """An object of the document; `twice` names a key that it has with two values."""

    twice = None


def _members(pairs):
    members = Members()
    for name, value in pairs:
        if name in members and members[name] != value:
            members.twice = name
        members[name] = value
    return members


# Parts that say nothing which silver shows: what they hold may be anything.
UNREAD = ("sqlType", "extend")


def _refuse_ambiguity(value):
    if isinstance(value, list):
        for item in value:
            _refuse_ambiguity(item)
    elif isinstance(value, Members):
        if value.twice is not None:
            raise Refused(f"{value.twice!r} comes twice with different values")
        for name, member in value.items():
            if name not in UNREAD:
                _refuse_ambiguity(member)


def _constant(name):
    raise Refused(f"{name} is no JSON")


def read_json(value, is_text=False):
    """Return the document of strict JSON, numbers as their text; also out of a text, if told so."""
    try:
        text = value.decode().removeprefix("\ufeff")
        document = json.loads(
            text,
            object_pairs_hook=_members,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_constant,
        )
        json.dumps(document, ensure_ascii=False).encode()  # halves of surrogate pairs
        _refuse_ambiguity(document)
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)) from None
    if is_text and isinstance(document, str) and not isinstance(document, Number):
        return read_json(document.encode())
    if not isinstance(document, dict):
        raise Refused("no object")
    return document


CANAL = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}
CANAL |= {"INIT": "snapshot", "ROW": "snapshot"}
OMS = {**CANAL, "REPLACE": "insert"}
PLEX = {"ins": "insert", "upd": "update", "del": "delete"}
PLEX |= {"insert": "insert", "update": "update", "delete": "delete"}
PLEX |= {"update before": "update_before", "update after": "update_after"}


def _canal(document, route):
    operation = CANAL[document["type"]]
    data, old = document.get("data"), document.get("old")
    rows = []
    for number, row in enumerate(data or old):
        was = old[number] if old and data else None
        if operation == "delete":
            rows.append(Said(operation, document["table"], row, None))
        else:
            rows.append(Said(operation, document["table"], was, row))
    return rows


def _oms(document, route):
    images = [document.get("prevStruct"), document.get("postStruct")]
    if route == "oms_default_extend":
        images = [image and _without_light_type(image) for image in images]
    meta = document["allMetaData"]
    return [Said(OMS[document["recordType"]], meta["table_name"], *images)]


def _without_light_type(image):
    """Each image has types of its own; the row in silver shows those of one of them."""
    types = image.get("__light_type")
    if not isinstance(types, dict):
        return image
    kinds = {n: str(t.get("schemaType")) for n, t in types.items() if isinstance(t, dict)}
    return {
        name: Other if is_spelled(kinds.get(name)) and value is not None else value
        for name, value in image.items()
        if name != "__light_type"
    }


def _oms_dataworks(document, route):
    payload = document["payload"]
    images = [(payload.get(part) or {}).get("data") for part in ("before", "after")]
    return [Said(CANAL[payload["op"]], document["schema"]["source"]["table"], *images)]


def _dataworks(document, route):
    payload = document["payload"]
    images = [(payload.get(part) or {}).get("dataColumn") for part in ("before", "after")]
    table = document["schema"]["source"]["tableName"]
    operation = {"UPDATE_BEFOR": "update_before", "UPDATE_BEFORE": "update_before"}.get(
        payload["op"], "update" if all(images) else payload["op"].lower()
    )
    if operation == "insert" and payload.get("sequenceId") == "-1":
        operation = "snapshot"
    return [Said(operation, table, *images)]


def _shareplex(document, route):
    meta, data, key = document["meta"], document.get("data"), document.get("key")
    operation = PLEX[meta["op"].lower()]
    table = meta["table"].rpartition(".")[2]
    images = (data, None) if operation in ("delete", "update_before") else (key, data)
    return [Said(operation, table, *images)]


DEBEZIUM = {"c": "insert", "r": "snapshot", "u": "update", "d": "delete"}


def _debezium(document, route):
    payload = document.get("payload") or document
    images = payload.get("before"), payload.get("after")
    return [Said(DEBEZIUM[payload["op"]], payload["source"]["table"], *images)]


def _debezium_mongodb(document, route):
    payload = document.get("payload") or document
    if payload["source"].get("connector") != "mongodb":  # the model reads those of tables, too
        return _debezium(document, route)
    texts = (payload.get(part) for part in ("before", "after"))
    before, after = (_of_document(text and read_json(text.encode())) for text in texts)
    operation = DEBEZIUM[payload["op"]]
    if operation == "update" and after:
        operation = "insert"
    elif operation == "update":
        changes = payload["updateDescription"]
        after = _patch(read_json((changes.get("updatedFields") or "{}").encode()), changes)
    return [Said(operation, payload["source"]["collection"], before, after)]


def _mongodb_change_stream(document, route):
    word, token = document["operationType"], document.get("_id")
    is_copied = isinstance(token, dict) and token.get("copyingData")
    operation = "snapshot" if is_copied else {"replace": "insert"}.get(word, word)
    names = ("fullDocumentBeforeChange", "fullDocument")
    before, after = (_of_document(document.get(name)) for name in names)
    if word == "update" and after:
        operation = "insert"
    elif word == "update":
        changes = document["updateDescription"]
        after = _patch(changes.get("updatedFields") or {}, changes)
    elif word == "delete":
        key = dict.fromkeys(document.get("documentKey") or (), Other)
        before, after = before or key, None
    return [Said(operation, document["ns"]["coll"], before, after)]


def _of_document(fields):
    """The fields of a document as they stand there; what Extended JSON writes otherwise aside."""
    if fields is None:
        return None
    found = {name: Other if isinstance(v, dict) else v for name, v in fields.items()}
    return {**found, "_id": Other, "document": Other}


def _patch(updated, changes):
    """The fields that a change has set and removed; the document is not known any more."""
    removed = dict.fromkeys(changes.get("removedFields") or ())
    return {**removed, **_of_document(updated), "document": None}


def _oms_debezium(document, route):
    envelope = document["payload"] if route == "oms_debezium" else document
    source, operation = envelope["source"], DEBEZIUM[envelope["op"]]
    if operation == "insert" and source.get("ts_ms") in (None, "0"):
        operation = "snapshot"
    before = envelope["before"] if operation in ("update", "delete") else None
    after = None if operation == "delete" else envelope["after"]
    if operation == "update":
        # It leaves nulls out.
        after = dict.fromkeys(before) | after
    return [Said(operation, source["table"], before, after)]


def _maxwell(document, route):
    kind, data = document["type"], document["data"]
    operation = {"bootstrap-insert": "snapshot"}.get(kind, kind)
    if route == "oms_maxwell" and kind == "insert" and document["ts"] == "1600000000":
        operation = "snapshot"
    if kind == "update":
        # With output_nulls = false it leaves nulls out.
        old = document.get("old") or {}
        return [Said(operation, document["table"], data | old, dict.fromkeys(old) | data)]
    images = (data, None) if kind == "delete" else (None, data)
    return [Said(operation, document["table"], *images)]


def _aws_dms(document, route):
    said, data = document["metadata"], document["data"]
    operation = {"load": "snapshot"}.get(said["operation"], said["operation"])
    before = data if operation == "delete" else None
    if operation == "update":
        before = document.get("before-image")
    # Its nulls say nothing.
    before = {n: value for n, value in (before or {}).items() if value is not None} or None
    return [Said(operation, said["table-name"], before, None if operation == "delete" else data)]


def _goldengate(document, route):
    operation = {"I": "insert", "U": "update", "D": "delete"}[document["op_type"]]
    before = document.get("before") if operation in ("update", "delete") else None
    after = None if operation == "delete" else document["after"]
    keys = document.get("primary_keys") or ()
    if operation == "update":
        # The key of a row is in both of its images.
        was = {n: before[n] for n in keys if before and before.get(n) is not None}
        after = was | after
    return [Said(operation, document["table"].split(".", 2)[-1], before or None, after)]


DATASTREAM = {"INSERT": "insert", "UPDATE": "update", "UPDATE-INSERT": "update"}
DATASTREAM |= {"DELETE": "delete", "UPDATE-DELETE": "delete"}


def _datastream(document, route):
    source, row = document["source_metadata"], document["payload"]
    is_backfill = "backfill" in document["read_method"]
    operation = "snapshot" if is_backfill else DATASTREAM[source["change_type"]]
    images = (row, None) if operation == "delete" else (None, row)
    return [Said(operation, source["table"], *images)]


def _ticdc_simple(document, route):
    images = document.get("old"), document.get("data")
    operation = CANAL[document["type"]]
    if operation == "insert":
        images = None, images[1]
    if operation == "delete":
        images = images[0], None
    times = [image and {n: _ticdc_time(v) for n, v in image.items()} for image in images]
    return [Said(operation, document["table"], *times)]


def _ticdc_time(value):
    return Other if isinstance(value, dict) and list(value) == ["location", "value"] else value


def _debezium_avro(value, route):
    encoder, number = ENCODERS[route], int.from_bytes(value[1:5], "big")
    schema = encoder.parsed.get(number)
    if value[:1] != b"\0" or schema is None:
        raise Refused("no header with the id of a schema")
    stream = BytesIO(value[5:])
    try:
        record = schemaless_reader(stream, schema, None)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        raise Refused(repr(error)) from None
    if stream.tell() + 5 < len(value):
        raise Refused("bytes are left over")
    if record.get("op") not in DEBEZIUM:
        return []
    images = (
        image and {name: _debezium_avro_text(value) for name, value in image.items()}
        for image in (record["before"], record["after"])
    )
    return [Said(DEBEZIUM[record["op"]], record["source"]["table"], *images)]


def _debezium_avro_text(value):
    return Other if isinstance(value, bytes | float) else value if value is None else str(value)


PROTOBUF = re.compile(rb"\0(.{4})(?:\x00|\x02\x00)(.*)", re.DOTALL)


def _debezium_protobuf(value, route):
    found = PROTOBUF.fullmatch(value)
    number = found and int.from_bytes(found[1], "big")
    if number not in ENCODERS[route].written:
        raise Refused("no header with the id of a schema and the index of its message")
    converter, schema = ENCODERS[route].written[number]
    try:
        message = message_class(converter.file(schema)).FromString(found[2])
    except DecodeError as error:
        raise Refused(repr(error)) from None
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.SerializeToString() != message.SerializeToString():
        raise Refused("fields that its schema does not have")
    operation = DEBEZIUM.get(getattr(message, "op", None))
    if operation is None:
        return []
    images = (_protobuf_image(message, part) for part in ("before", "after"))
    table = message.source.table
    return [Said(operation, table if isinstance(table, str) else table.value, *images)]


def _protobuf_image(message, part):
    row = getattr(message, part)
    if not message.HasField(part):
        return None
    return {field.name: _protobuf_text(row, field) for field in row.DESCRIPTOR.fields}


def _protobuf_text(row, field):
    value = getattr(row, field.name)
    if field.has_presence and not row.HasField(field.name):
        return None
    value = getattr(value, "value", value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else Other


def _debezium_flat(document, route):
    row = document["payload"] if document.keys() == {"schema", "payload"} else document
    operation = DEBEZIUM["d" if row.get("__deleted") == "true" else row.get("__op") or "u"]
    image = {name: value for name, value in row.items() if not name.startswith("__")}
    images = (image, None) if operation == "delete" else (None, image)
    table = row.get("__table") or row.get("__source_table") or f"hostile.{route}"
    return [Said(operation, table.rpartition(".")[2], *images)]


ROWS = {
    **dict.fromkeys(("r", "read", "snapshot"), "snapshot"),
    **dict.fromkeys(("c", "i", "insert", "+i"), "insert"),
    **dict.fromkeys(("u", "update", "upsert", "+u", "update_after"), "update"),
    **dict.fromkeys(("d", "delete", "-d"), "delete"),
}


def _rows(document, route):
    row = {name: value for name, value in document.items() if name != "row kind"}
    operation = ROWS[document["row kind"].lower()]
    # The tables of these rows tell nulls by columns that are not there: each begins again.
    if operation == "update" and "region" in row:
        operation = "insert"
    images = (row, None) if operation == "delete" else (None, row)
    return [Said(operation, None, *images)]


def _flink(document, route):
    word = next(document[name] for name in ("op", "type", "op_type") if document.get(name))
    words = ("c", "INSERT", "insert", "I", "+I", "+U", "d", "DELETE", "delete", "D", "-D", "-U")
    is_gone = words.index(word) > 5
    row = document.get("data")
    if row is None:
        row = document["before" if is_gone else "after"]
    row = row[0] if isinstance(row, list) else row
    operation, *images = ("delete", row, None) if is_gone else ("insert", None, row)
    return [Said(operation, None, *images)]


def _dts_avro(value, route):
    encoder = ENCODERS[route]
    record = None
    # Records of older producers end before the last field.
    for schema in (encoder.schema, without_last_field(encoder.schema)):
        stream = BytesIO(value)
        try:
            record = schemaless_reader(stream, schema, None, return_named_type=True)
        except Exception:  # noqa: BLE001 - bytes raise anything
            continue
        if stream.tell() == len(value):
            break
        record = None
    if record is None:
        raise Refused("no record of the schema")
    names = [part["name"] for part in record["fields"] or ()]
    operation = {"INIT": "snapshot"}.get(record["operation"], record["operation"].lower())
    images = []
    for part in ("beforeImages", "afterImages"):
        image = record[part]
        if isinstance(image, list):
            pairs = zip(names, image, strict=False)
            image = {n: _dts_text(v) for n, v in pairs if v is None or v[1] != "NONE"}
        images.append(image if isinstance(image, dict) else None)
    table = record["tags"].get("l_tb_name") or (record["objectName"] or "").rpartition(".")[2]
    said = Said(operation, table.replace("\\u002E", "."), *images)
    return [said]


class Other:
    """A value that silver may spell otherwise."""


def _dts_text(value):
    if value is None:
        return None
    kind, body = value
    if body == "NULL":
        return None
    kind = kind.rpartition(".")[2]
    if kind == "TextObject" and body["type"] in ("ENUM", "SET", "JSON"):
        return body["value"]
    if kind == "Character" and body["charset"] == "utf8mb4":
        return body["value"].decode()
    return Other


def without_last_field(schema):
    plain = {k: v for k, v in schema.items() if not k.startswith("__")}
    return parse_schema({**plain, "fields": plain["fields"][:-1]})


def _oceanbase_avro(value, route):
    stream = BytesIO(value)
    try:
        record = schemaless_reader(stream, ENCODERS[route].schema, None, return_named_type=True)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        raise Refused(repr(error)) from None
    if stream.tell() < len(value):
        raise Refused("bytes are left over")
    if record["total"] > 0:
        return []
    names = [part["name"] for part in record["fields"] or ()]
    images = []
    for part in ("beforeImages", "afterImages"):
        image = record[part]
        if image is not None:
            pairs = zip(names, image, strict=False)
            image = {name: _oceanbase_text(column["value"]) for name, column in pairs}
        images.append(image)
    operation = record["operation"]
    operation = operation[1] if isinstance(operation, tuple) else operation
    return [Said((operation or "").lower(), record["tableName"], *images)]


def _oceanbase_text(value):
    if isinstance(value, tuple):
        name, body = value
        return body["value"] if name.endswith(".StringObject") else Other
    return value if value is None or isinstance(value, str) else Other


READERS = {
    **dict.fromkeys(("oms_default", "oms_default_extend"), _oms),
    **dict.fromkeys(
        ("canal", "oms_canal", "oceanbase_canal", "dts_canal", "drs_json", "drs_json_c"), _canal
    ),
    "tencent_canal": _canal,
    "tidb_canal": _canal,
    "ticdc_simple": _ticdc_simple,
    **dict.fromkeys(("oms_shareplex", "dts_shareplex"), _shareplex),
    "oms_dataworks": _oms_dataworks,
    "dataworks_kafka": _dataworks,
    "debezium_json": _debezium,
    "debezium_mongodb": _debezium_mongodb,
    "mongodb_change_stream": _mongodb_change_stream,
    "debezium_flat_json": _debezium_flat,
    **dict.fromkeys(("dts_avro", "drs_avro"), _dts_avro),
    "oceanbase_avro": _oceanbase_avro,
    "debezium_avro": _debezium_avro,
    "debezium_protobuf": _debezium_protobuf,
    **dict.fromkeys(("maxwell", "oms_maxwell"), _maxwell),
    **dict.fromkeys(("oms_debezium", "oms_debezium_flatten"), _oms_debezium),
    "aws_dms": _aws_dms,
    "goldengate_json": _goldengate,
    "datastream_json": _datastream,
    "rows": _rows,
    "flink_changelog": _flink,
}
AVRO = ("dts_avro", "drs_avro", "oceanbase_avro")
BINARY = (*AVRO, "debezium_avro", "debezium_protobuf")
# Before their JSON may stand the id of a schema, in four bytes or in eight.
CONNECT = ("debezium_json", "debezium_flat_json", "debezium_mongodb", "mongodb_change_stream")
HEADER = re.compile(rb"\0(?:.{4}|.{8})(?=\{)", re.DOTALL)


def document_of(name, value):
    found = HEADER.match(value) if name in CONNECT else None
    return read_json(value[found.end() :] if found else value, name == "mongodb_change_stream")


def check_bytes(name, value):
    """Raise Refused unless the bytes are a whole datum or document of the format."""
    if name in BINARY:
        READERS[name](value, name)
    else:
        document_of(name, value)


def rows_of(name, value):
    """Return the rows that a message of row changes says."""
    document = value if name in BINARY else document_of(name, value)
    return READERS[name](document, name)


# Types whose texts become canonical, which may be another text than was sent.
SPELLED = ("blob", "binary", "bytes", "bit", "time", "date", "year", "decimal", "numeric")
SPELLED += ("float", "double", "enum", "set", "bool", "geom", "point")

# A number's text may lose its exponent, and nothing else.
EXPONENT, PLAIN = r"-?\d+(\.\d+)?[eE][+-]?\d{1,4}", r"-?\d+(\.\d+)?"


def is_spelled(column_type):
    return any(word in (column_type or "").lower() for word in SPELLED)


def is_the_same(raw, text, column_type):
    """Whether silver's text is the value that stands in the message."""
    if raw is None or text is None:
        return raw is None and text is None
    if raw is Other or is_spelled(column_type):
        return True
    if isinstance(raw, bool):
        return text == ("true" if raw else "false") or text == str(int(raw))
    if isinstance(raw, dict | list):
        return json.loads(text, parse_int=Number, parse_float=Number) == raw
    if raw == "-0" and re.search("int|long|number", (column_type or "").lower()):
        return text == "0"
    if re.fullmatch(EXPONENT, raw):
        return text == raw or (re.fullmatch(PLAIN, text) and Decimal(text) == Decimal(raw))
    return text == raw
