"""Decode Alibaba DTS subscription records (Avro) into one flat row.

`register` makes `decode_dts_avro(value binary, schema string)` a SQL function; `decode` is the
same for one value in plain Python. A value is one bare Avro datum: no header, no schema id.
Bytes that cannot be decoded give a row with `error_code` and `error_detail`; nothing raises.
"""

import codecs
import json
import re
import struct
import sys
from io import BytesIO
from pathlib import Path

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

DEFAULT_SCHEMA = "avro/dts_avro.avsc"

RETURN_TYPE = (
    "error_code string, error_detail string, operation string, source_type string, id bigint, "
    "source_timestamp bigint, born_timestamp bigint, source_position string, "
    "transaction_id string, database_name string, schema_name string, table_name string, "
    "key_columns array<string>, column_types map<string,string>, "
    "before map<string,string>, before_is_complete boolean, "
    "after map<string,string>, after_is_complete boolean, ddl string"
)
COLUMNS = tuple(column.split()[0] for column in RETURN_TYPE.split(", "))

ROW_OPERATIONS = frozenset(("INSERT", "UPDATE", "DELETE", "INIT"))


def register(spark, project_dir):
    """Register `decode_dts_avro(value binary, schema string)` in the session `spark`.

    `project_dir` is the folder that holds `avro/`. Every `avro/*.avsc` is read and parsed here,
    on the driver, and travels with the function: workers need fastavro and pyarrow, but neither
    the files nor this module.
    `schema` is a path relative to `project_dir`, null means avro/dts_avro.avsc. A file that is
    not a DTS schema is no error here; it is one for the messages that ask for it.
    """
    from pyspark import cloudpickle
    from pyspark.sql.functions import arrow_udf

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    schemas = load_schemas(project_dir)

    def decode_dts_avro(values: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = zip(values.to_pylist(), paths.to_pylist(), strict=True)
        return to_arrow([decode(value, path, schemas) for value, path in pairs])

    spark.udf.register("decode_dts_avro", arrow_udf(decode_dts_avro, RETURN_TYPE))


def load_schemas(project_dir):
    """Return {"avro/<file>": parsed schema} of `project_dir`; a file that cannot serve as a DTS
    schema maps to the sentence that says why."""
    schemas = {}
    for path in sorted(Path(project_dir, "avro").glob("*.avsc")):
        name = f"avro/{path.name}"
        try:
            schemas[name] = Schema(path.read_text(encoding="utf-8"))
        except Exception as error:  # noqa: BLE001 - no file may stop the session
            schemas[name] = f"{name} is not a DTS schema: {_reason(error)}"
    return schemas


def decode(value, path, schemas):
    """Decode one Kafka value (bytes or None); return a tuple in the order of COLUMNS.

    `path` names the schema in `schemas` (see `load_schemas`); None means avro/dts_avro.avsc.
    Times are as sent: source_timestamp in seconds, born_timestamp in what the producer used.
    Never raises. Error codes: empty_value, unknown_schema, not_avro (the bytes are no such
    record), wrong_type (a record whose parts do not fit), unknown_charset, not_text (characters
    that are not text in their charset).
    """
    try:
        schema = schemas.get(DEFAULT_SCHEMA if path is None else path)
        if schema is None:
            known = ", ".join(schemas) or "none"
            raise Refused("unknown_schema", f"there is no schema {path!r}; there are: {known}")
        if isinstance(schema, str):
            raise Refused("unknown_schema", schema)
        if not value:
            raise Refused("empty_value", "the value is null" if value is None else "zero bytes")
        record, born = schema.read(value)
        return _row(record, born, schema.converters)
    except Refused as refused:
        return refused.args + _NOTHING
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return ("wrong_type", f"cannot interpret the record: {_reason(error)}", *_NOTHING)


_NOTHING = (None,) * (len(COLUMNS) - 2)


class Refused(Exception):
    """A message that cannot be decoded: error code, detail for a person."""


def _reason(error):
    return f"{type(error).__name__}: {str(error)[:200]}"


# ---------------------------------------------------------------------------- schema and framing


class _Strict(list):
    """Symbols of an enum or branches of a union. A list takes index -1 for its last item, and so
    does fastavro with an index that it reads from broken bytes."""

    def __len__(self):
        return 0  # compiled fastavro adds the length to a negative index before it asks

    def __getitem__(self, index):
        if index < 0:
            raise IndexError(f"index {index} of a union or enum")
        return list.__getitem__(self, index)


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
_VALUES = {
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


def _without_logical_type(schema):
    # fastavro would turn numbers into dates, which we have to spell ourselves.
    schema.pop("logicalType", None)
    return schema


class Schema:
    """A parsed Avro schema of DTS records. Raises ValueError if `text` is not one."""

    def __init__(self, text):
        self._named = {}
        plain = json.loads(text, object_hook=_without_logical_type)
        # Expanded, because fastavro looks names up anew for every value.
        parsed = parse_schema(plain, named_schemas=self._named, expand=True)
        parsed = parsed if isinstance(parsed, list) else [parsed]
        for named in parsed:
            self._least_bytes(named, ())
        record = self._find_record(parsed)
        fields = record["fields"]
        types = {field["name"]: field["type"] for field in fields}
        self._require(types["source"], {"sourceType": "enum"})
        self._require(types["fields"], {"name": "string", "dataTypeNumber": "int long"})
        self.converters = {}
        for value in self._records_in([types["beforeImages"], types["afterImages"]]):
            kind = value["name"].rpartition(".")[2]
            if kind in _CONVERTERS:
                self.converters[value["name"]] = _CONVERTERS[kind]
                self._require(value, _VALUES[kind])
                if kind == "TimestampWithTimeZone":
                    self._require(value["fields"][0]["type"], _VALUES["DateTime"])
        # Records of older producers end before bornTimestamp, so it is read on its own.
        if fields[-1]["name"] == "bornTimestamp" and fields[-1]["type"] == "long":
            fields = fields[:-1]
        self._record = {
            **record,
            "fields": fields,
            "__fastavro_parsed": True,
            "__named_schemas": self._named,
        }

    def _records_in(self, avro_type):
        if isinstance(avro_type, list):
            for branch in avro_type:
                yield from self._records_in(branch)
        elif isinstance(avro_type, str):
            yield from self._records_in(self._named.get(avro_type, {}))
        elif avro_type.get("type") == "record":
            yield avro_type
        else:
            yield from self._records_in(avro_type.get("items", []))

    def _require(self, avro_type, needed):
        for record in self._records_in(avro_type):
            if lacking := self._lacking(record, needed):
                raise ValueError(f"{record['name']} lacks {lacking}")

    def _find_record(self, parsed):
        records = [record for named in parsed for record in self._records_in(named)]
        for record in reversed(records):  # the file's last type is the outermost one
            if not self._lacking(record, _RECORD):
                return record
        closest = min(records, key=lambda r: len(self._lacking(r, _RECORD)), default=None)
        if closest is None:
            raise ValueError("it holds no record")
        raise ValueError(f"{closest['name']} lacks {self._lacking(closest, _RECORD)}")

    def _lacking(self, named, needed):
        """Name the needed fields that are missing or of another type, "" if there are none."""
        found = {field["name"]: self._kinds(field["type"]) for field in named["fields"]}
        return ", ".join(
            f"{name} ({kinds.replace(' ', ' or ')})"
            for name, kinds in needed.items()
            if not found.get(name, set()) - {"null"}
            or not found[name] - {"null"} <= set(kinds.split())
        )

    def _kinds(self, avro_type):
        if isinstance(avro_type, list):
            return set().union(*map(self._kinds, avro_type))
        if isinstance(avro_type, dict):
            is_string_map = avro_type["type"] == "map" and avro_type["values"] == "string"
            return {"string_map" if is_string_map else avro_type["type"]}
        return {self._named[avro_type]["type"] if avro_type in self._named else avro_type}

    def _least_bytes(self, avro_type, inside):
        """Fewest bytes of a value. Refuses what hostile bytes could abuse: arrays of items of no
        bytes loop as long as their count says, a record inside itself overflows the stack.
        Makes unions and enums strict on the way."""
        if isinstance(avro_type, list):
            raise TypeError("a union has to be made strict where it is held")
        if isinstance(avro_type, str):
            if avro_type not in self._named:
                return {"null": 0, "float": 4, "double": 8}.get(avro_type, 1)
            avro_type = self._named[avro_type]
        kind = avro_type["type"]
        if kind == "record":
            name = avro_type["name"]
            if name in inside:
                raise ValueError(f"{name} contains itself")
            fields = avro_type["fields"]
            return sum(self._least_bytes_held(f, "type", (*inside, name)) for f in fields)
        if kind == "enum":
            avro_type["symbols"] = _Strict(avro_type["symbols"])
        elif kind == "fixed":
            return avro_type["size"]
        elif kind == "map":
            self._least_bytes_held(avro_type, "values", inside)
        elif kind == "array" and not self._least_bytes_held(avro_type, "items", inside):
            raise ValueError("it holds an array of items that have no bytes")
        elif kind not in ("array", "enum"):
            return self._least_bytes(kind, inside)
        return 1

    def _least_bytes_held(self, holder, key, inside):
        if not isinstance(holder[key], list):
            return self._least_bytes(holder[key], inside)
        holder[key] = _Strict(holder[key])
        for branch in holder[key]:
            self._least_bytes(branch, inside)
        return 1

    def read(self, value):
        """Read one datum; return the record and its bornTimestamp (None if it ends before)."""
        stream = BytesIO(value)
        try:
            # Named branches of unions come as (name, value), which tells a Decimal from an Integer.
            record = schemaless_reader(stream, self._record, None, return_named_type=True)
            born = None
            if stream.tell() < len(value):
                born = schemaless_reader(stream, "long", None)
        except Exception:  # noqa: BLE001 - bytes raise anything
            raise Refused("not_avro", self._where(value)) from None
        if stream.tell() < len(value):
            left = len(value) - stream.tell()
            detail = f"{left} of {len(value)} bytes are left over after the record"
            raise Refused("not_avro", detail + _looks_like(value))
        return record, born

    def _where(self, value):
        """Read `value` again field by field, to say where it stops being a record."""
        stream = BytesIO(value)
        fields = [*self._record["fields"], {"name": "bornTimestamp", "type": "long"}]
        for field in fields:
            start = stream.tell()
            try:
                schemaless_reader(stream, {**self._record, "fields": [field]}, None)
            except Exception as error:  # noqa: BLE001 - bytes raise anything
                return (
                    f"{field['name']}, from byte {start} of {len(value)}, cannot be read: "
                    f"{_avro_reason(error)}{_looks_like(value)}"
                )
        return f"{len(value)} bytes that are no record"


def _avro_reason(error):
    if isinstance(error, EOFError):
        return "the bytes end inside it"
    if isinstance(error, IndexError):
        return "it has an index that no union or enum of the schema has"
    return _reason(error)


def _looks_like(value):
    return "; it looks like JSON text" if value.lstrip()[:1] in (b"{", b"[") else ""


# ---------------------------------------------------------------------------- record to row


def _row(record, born, converters):
    operation = record["operation"]
    source_type = record["source"]["sourceType"]
    position = record["sourcePosition"]
    tags = record["tags"]
    database, schema, table = _names(record["objectName"], tags)
    names, numbers = _fields(record["fields"])
    after_images = record["afterImages"]
    context = (source_type, _fraction_digits(source_type, position))

    images = []
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
    if operation == "UPDATE" and after_is_complete is False and before_is_complete:
        after = {name: after[name] if name in after else before[name] for name in names}
        after_is_complete = True

    transaction = record["sourceTxid"]
    return (
        None,
        None,
        operation,
        source_type,
        record["id"],
        record["sourceTimestamp"],
        born or None,
        position,
        None if transaction in ("", "0") else transaction,
        database,
        schema,
        table,
        _key_columns(tags.get("pk_uk_info")),
        dict(zip(names, map(str, numbers), strict=True)) if names else None,
        before,
        before_is_complete,
        after,
        after_is_complete,
        after_images if isinstance(after_images, str) else None,
    )


def _names(object_name, tags):
    """Split `db[.schema][.table]`; a dot inside a name is sent as the characters \\u002E."""
    parts = object_name.split(".") if object_name else []
    if len(parts) > 3:
        raise Refused("wrong_type", f"objectName {object_name[:200]!r} has {len(parts)} parts")
    if "\\u" in (object_name or ""):
        parts = [re.sub(r"\\u002E", ".", part, flags=re.IGNORECASE) for part in parts]
    database = parts[0] if parts else None
    schema = parts[1] if len(parts) == 3 else None
    table = parts[-1] if len(parts) > 1 else None
    # DRDS shards: the tags name the logical database and table, objectName the physical ones.
    return tags.get("l_db_name") or database, schema, tags.get("l_tb_name") or table


def _fields(fields):
    if not isinstance(fields, list):
        return None, None
    names = [field["name"] for field in fields]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("wrong_type", f"fields names the column {twice[:100]!r} more than once")
    return names, [field["dataTypeNumber"] for field in fields]


def _image(image, names, numbers, part, context, converters):
    """Return {column: canonical text} and whether every column of the row is in it."""
    if len(image) > len(names):
        detail = f"{part} has {len(image)} values for {len(names)} fields"
        raise Refused("wrong_type", detail)
    row = {}
    is_complete = len(image) == len(names)
    name = None
    try:
        # Not strict: the end of an image may be missing.
        for name, number, value in zip(names, numbers, image):  # noqa: B905
            if value is None:
                row[name] = None
                continue
            branch, body = value
            if body == "NONE":  # not carried
                is_complete = False
            elif body == "NULL":
                row[name] = None
            else:
                row[name] = converters[branch](body, number, context)
    except Refused as refused:
        code, detail = refused.args
        raise Refused(code, f"column {name[:100]!r} of {part}: {detail}") from None
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        detail = f"column {name[:100]!r} of {part}: {_reason(error)}"
        raise Refused("wrong_type", detail) from None
    return row, is_complete


def _remembered(function):
    """Keep answers for arguments that come with every message. Plain closures, because
    functools.lru_cache objects cannot be pickled by value."""
    answers = {}

    def answer(argument):
        try:
            return answers[argument]
        except KeyError:
            if len(answers) >= 1000:
                answers.clear()
            found = answers[argument] = function(argument)
            return found

    return answer


@_remembered
def _key_columns(info):
    """Columns of the primary key out of `{"PRIMARY": ["id"], ...}`, None if there are none."""
    try:
        key = json.loads(info)["PRIMARY"]
        "".join(key).encode()  # TypeError unless all are strings; no half surrogates for Arrow
    except (TypeError, ValueError, KeyError, RecursionError):
        return None
    return key if isinstance(key, list) and key else None


# ---------------------------------------------------------------------------- values to text
#
# Each takes (body, dataTypeNumber, (source type, digits of a fraction)) and returns text.

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,9}))?")
_SPECIAL = re.compile(r"[+-]?[A-Za-z_~]+")
# An exponent beyond this stays as sent: a few bytes must not become gigabytes.
_MOST_ZEROS = 5000


def _integer(body, _number, _context):
    text = body["value"]
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise Refused("wrong_type", f"{text[:100]!r} is not an integer")
    digits = match[2]
    return "-" + digits if match[1] == "-" and digits != "0" else digits


def _decimal(body, _number, _context):
    return _plain(body["value"])


def _plain(text):
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        if _SPECIAL.fullmatch(text):  # NaN, Infinity, ~, NOT_ASSIGNED
            return text
        raise Refused("wrong_type", f"{text[:100]!r} is not a decimal number")
    sign, whole, fraction = match[1], match[2], match[3] or ""
    exponent = int(match[4] or 0)
    if abs(exponent) > _MOST_ZEROS:
        return text
    if exponent > 0:
        fraction = fraction.ljust(exponent, "0")
        whole, fraction = whole + fraction[:exponent], fraction[exponent:]
    elif exponent < 0:
        whole = whole.rjust(-exponent, "0")
        whole, fraction = whole[:exponent], whole[exponent:] + fraction
    plain = (whole.lstrip("0") or "0") + ("." + fraction if fraction else "")
    return "-" + plain if sign == "-" and plain.strip("0.") else plain


# Codes of four-byte floats, which DTS sends as doubles: MySQL FLOAT, PostgreSQL's OID of real,
# Oracle BINARY_FLOAT.
_SINGLES = frozenset(
    (("MySQL", 4), ("DRDS", 4), ("PostgreSQL", 700), ("PPAS", 700), ("Oracle", 100))
)


def _float(body, number, context):
    """Shortest text that reads back to the same number, without exponent, with at least one digit
    after the point: 0.1, 5.0, 10000000000000000.0. Not numbers: NaN, Infinity, -Infinity."""
    value = body["value"]
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    text = (_single(value) if (context[0], number) in _SINGLES else None) or repr(value)
    if "e" in text:
        text = _plain(text)
    return text if "." in text else text + ".0"


def _single(value):
    """Shortest text that reads back to the same four-byte float, None if `value` is not one."""
    try:
        if struct.unpack("f", struct.pack("f", value))[0] != value:
            return None
        for digits in range(1, 10):
            text = f"{value:.{digits}g}"
            if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
                return text
    except OverflowError:
        pass
    return None


# Names that MySQL, and some that Oracle and Java, give to charsets which Python calls otherwise.
_CODECS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "al32utf8": "utf-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16be": "utf-16-be",
    "utf16le": "utf-16-le",
    "al16utf16": "utf-16-be",
    "utf32": "utf-32-be",
    "latin1": "latin1",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "tis620": "tis-620",
    "ascii": "ascii",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "gbk": "gbk",
    "zhs16gbk": "gbk",
    "gb2312": "gb2312",
    "gb18030": "gb18030",
    "big5": "big5",
    "ujis": "euc_jp",
    "eucjpms": "euc_jp",
    "sjis": "shift_jis",
    "cp932": "cp932",
    "euckr": "cp949",
    "hp8": "hp-roman8",
    "macroman": "mac-roman",
    "macce": "mac-latin2",
}
# MySQL's latin1 is Windows-1252 with the five bytes that are free there as themselves.
_LATIN1 = "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in range(256))
# Codecs of Python that no database has: they evaluate escapes or take quadratic time.
_NOT_CHARSETS = ("unicode-escape", "raw-unicode-escape", "idna", "punycode", "utf-7", "undefined")


@_remembered
def _decoder(charset):
    """Return bytes -> str for a charset's name, None if nobody knows it."""
    codec = _CODECS.get(charset.lower(), charset)
    if codec == "latin1":
        return lambda data: codecs.charmap_decode(data, "strict", _LATIN1)[0]
    try:
        name = codecs.lookup(codec).name
        b"a".decode(name, "replace")  # LookupError for codecs that are not text, like zip
    except (LookupError, ValueError, UnicodeError):
        return None
    return None if name in _NOT_CHARSETS else lambda data: data.decode(name)


def _text(data, charset):
    decoder = _decoder(charset)
    if decoder is None:
        raise Refused("unknown_charset", f"unknown charset {charset[:100]!r}")
    try:
        return decoder(data)
    except ValueError as error:
        at = getattr(error, "start", 0)
        found = data[at : at + 4].hex()
        raise Refused("not_text", f"not {charset} text: bytes {found} at {at}") from None


def _character(body, _number, _context):
    charset = body["charset"]
    if charset in ("utf8mb4", "utf8"):
        try:
            return body["value"].decode()
        except UnicodeDecodeError:
            pass
    if charset == "binary":
        # MySQL's name for the charset of BINARY and VARBINARY: bytes, not characters.
        return body["value"].hex()
    return _text(body["value"], charset)


_CLOCK = 86400


def _timestamp(body, _number, _context):
    # `millis` holds microseconds, whatever its name and the source.
    days, seconds = divmod(body["timestamp"], _CLOCK)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{_day(days)} {clock}{_fraction(body['millis'], 6)}"


@_remembered
def _day(days):
    """YYYY-MM-DD of a count of days since 1970-01-01, for any year (datetime ends at 9999)."""
    era, day = divmod(days + 719468, 146097)  # eras of 400 years that begin on a first of March
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    return _date(400 * era + year + (month <= 2), month, day + 1)


def _date(year, month, day):
    if not (0 <= month <= 12 and 0 <= day <= 31):
        raise Refused("wrong_type", f"year {year}, month {month}, day {day} is no date")
    return f"{_year(year)}-{month:02d}-{day:02d}"


def _year(year):
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def _time(hour, minute, second, fraction, digits, most_hours):
    if not (0 <= hour <= most_hours and 0 <= minute <= 59 and 0 <= second <= 60):
        detail = f"hour {hour}, minute {minute}, second {second} is no time"
        raise Refused("wrong_type", detail)
    return f"{hour:02d}:{minute:02d}:{second:02d}{_fraction(fraction, digits)}"


def _fraction(fraction, digits):
    if not fraction:
        return ""
    if not 0 <= fraction < 10**digits:
        raise Refused("wrong_type", f"a fraction of {fraction} does not fit {digits} digits")
    return "." + str(fraction).zfill(digits).rstrip("0")


def _fraction_digits(source_type, position):
    """Digits that DateTime.millis counts: it holds micro- or nanoseconds, by source. A position
    with <-> is written by the reader of physical logs, which counts nanoseconds."""
    return 6 if source_type in ("MySQL", "PostgreSQL") and "<->" not in position else 9


_FAMILIES = {"DRDS": "MySQL", "PPAS": "PostgreSQL"}
# What a column is, where the parts that are set may say more: a DATE with a clock of zeros.
_FORMS = {
    **{("MySQL", number): "date" for number in (10, 14)},
    **{("MySQL", number): "time" for number in (11, 19)},
    **{("MySQL", number): "datetime" for number in (7, 12, 17, 18)},
    ("MySQL", 13): "year",
    ("PostgreSQL", 1082): "date",
    ("PostgreSQL", 1083): "time",
    ("PostgreSQL", 1114): "datetime",
    ("Oracle", 12): "datetime",
    ("Oracle", 180): "datetime",
}


def _datetime(body, number, context):
    """Text of the parts that are set: date, time (to 838 hours, negative), datetime, year, and
    Oracle's intervals as [-]Y-MM and [-]D HH:MM:SS[.f]."""
    source_type, digits = context
    form = _FORMS.get((_FAMILIES.get(source_type, source_type), number))
    date = year, month, day = body["year"], body["month"], body["day"]
    clock = body["hour"], body["minute"], body["second"], body["millis"]
    has_date, has_clock = date != (None,) * 3, clock != (None,) * 4
    if not (has_date or has_clock):
        raise Refused("wrong_type", "a DateTime without any part")
    # Zeros in parts that the type does not have are no parts; anything else is kept.
    if form == "date" and has_date and not any(clock):
        has_clock = False
    elif form == "time" and has_clock and not any(date):
        has_date = False
    elif form == "datetime" and has_date:
        has_clock = True
    elif form == "year" and year is not None and not (month or day or any(clock)):
        return _year(year)

    if not has_clock:
        if day is None and month is None:
            return _year(year)
        if day is None:
            return _signed((year or 0, month), lambda y, m: f"{y}-{m:02d}")
        return _date(year or 0, month or 0, day)
    clock = [part or 0 for part in clock]
    if not has_date:
        return _signed(clock, lambda *parts: _time(*parts, digits, 10**6))
    if year is None and month is None:
        return _signed((day, *clock), lambda d, *parts: f"{d} {_time(*parts, digits, 23)}")
    return f"{_date(year or 0, month or 0, day or 0)} {_time(*clock, digits, 24)}"


def _signed(parts, spell):
    """Spell parts that carry their common sign each."""
    if min(parts) >= 0:
        return spell(*parts)
    if max(parts) > 0:
        raise Refused("wrong_type", f"parts of both signs: {parts}")
    return "-" + spell(*(-part for part in parts))


def _zoned(body, number, context):
    return f"{_datetime(body['value'], number, context)} {body['timezone']}".rstrip()


def _hex(body, _number, _context):
    return body["value"].hex()


def _as_sent(body, _number, _context):
    return body["value"]


_TEXT_TYPES = frozenset(("JSON", "JSONB", "XML", "TEXT", "ENUM", "SET"))
_POSTGRES = ("PostgreSQL", "PPAS")


def _binary_object(body, number, context):
    # PostgreSQL's json and jsonb come as bytes of their text.
    is_json = number in (114, 3802) and context[0] in _POSTGRES
    if is_json or body["type"].upper() in _TEXT_TYPES:
        return _text(body["value"], "utf8")
    return body["value"].hex()


_BOOLEANS = {"t": "1", "true": "1", "f": "0", "false": "0"}


def _text_object(body, number, context):
    text = body["value"]
    is_bool = number == 16 and context[0] in _POSTGRES
    if is_bool or body["type"].upper() in ("BOOL", "BOOLEAN"):
        return _BOOLEANS.get(text.lower(), text)
    return text


_CONVERTERS = {
    "Integer": _integer,
    "Character": _character,
    "Decimal": _decimal,
    "Float": _float,
    "Timestamp": _timestamp,
    "DateTime": _datetime,
    "TimestampWithTimeZone": _zoned,
    "BinaryGeometry": _hex,
    "TextGeometry": _as_sent,
    "BinaryObject": _binary_object,
    "TextObject": _text_object,
}


# ---------------------------------------------------------------------------- rows to Arrow


def to_arrow(rows):
    """Return tuples of `decode` as a pyarrow StructArray of RETURN_TYPE."""
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    kinds = (column.split()[1] for column in RETURN_TYPE.split(", "))
    return pa.StructArray.from_arrays(
        [_column(column, kind) for column, kind in zip(columns, kinds, strict=True)],
        names=COLUMNS,
    )


def _column(values, kind):
    if kind == "map<string,string>":
        return _map_column(values)
    types = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "array<string>": pa.list_(pa.string()),
    }
    return pa.array(values, types[kind])


def _map_column(maps):
    # Keys and items flat: three times as fast as handing pyarrow a list of pairs per row.
    offsets, keys, items = [0], [], []
    for entries in maps:
        if entries:
            keys += entries
            items += entries.values()
        offsets.append(len(keys))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()),
        pa.array(keys, pa.string()),
        pa.array(items, pa.string()),
        mask=pa.array([entries is None for entries in maps], pa.bool_()),
    )
