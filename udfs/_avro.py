"""What the Avro decoders of this folder share: schemas, reading, canonical text, Arrow.

A decoder is a class that takes the text of an .avsc, raises ValueError if that is not its shape,
and has `row(value)`: one bare Avro datum (no header, no schema id) to a tuple in the order of
COLUMNS. Whatever is wrong with the bytes is raised as `Refused`; `decode` makes a row of that.
"""

import gc
import json
import re
import struct
from io import BytesIO
from pathlib import Path

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from udfs import _charsets, ddl

_RECORD_TYPE = (
    "error_code string, error_detail string, shape string, operation string, "
    "source_type string, id bigint, source_timestamp bigint, born_timestamp bigint, "
    "source_position string, transaction_id string, transaction_flag string, "
    "database_name string, schema_name string, table_name string, "
    "key_columns array<string>, column_types map<string,string>, "
    "before map<string,string>, before_is_complete boolean, "
    "after map<string,string>, after_is_complete boolean, ddl string, "
    "shard_total int, shard_index int"
)
COLUMNS = tuple(column.split()[0] for column in _RECORD_TYPE.split(", "))
_DDL = COLUMNS.index("ddl")
# With what `read_ddl` says of the statement.
RETURN_TYPE = f"{_RECORD_TYPE}, stated struct<{ddl.RETURN_TYPE}>"


class Refused(Exception):
    """A message that cannot be decoded: error code, detail for a person."""


def reason(error):
    """Say what an unforeseen error is, in one line."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def register_decoder(spark, name, decode_one):
    """Register `name(value, schema)` in the session; `decode_one` returns a tuple of COLUMNS."""
    from pyspark.sql.functions import arrow_udf

    def decode_all(values: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = zip(values.to_pylist(), paths.to_pylist(), strict=True)
        gc.disable()  # rows hold no cycles, and it takes longer to look for some the more there are
        try:
            return to_arrow([decode_one(value, path) for value, path in pairs])
        finally:
            gc.enable()

    spark.udf.register(name, arrow_udf(decode_all, RETURN_TYPE))


def load_schemas(project_dir, shape, title):
    """Return {"avro/<file>": shape(text)} of `project_dir`; a file that is not of that shape maps
    to the sentence that says why, for the messages that ask for it."""
    schemas = {}
    for path in sorted(Path(project_dir, "avro").glob("*.avsc")):
        name = f"avro/{path.name}"
        try:
            schemas[name] = shape(path.read_text(encoding="utf-8"))
        except Exception as error:  # noqa: BLE001 - no file may stop the session
            why = str(error) if isinstance(error, ValueError) else reason(error)
            schemas[name] = f"{name} is not {title}: {why}"
    return schemas


def find_schema(schemas, path):
    """Return the decoder of `path`, or refuse with a sentence."""
    schema = schemas.get(path)
    if schema is None:
        known = ", ".join(schemas) or "none"
        raise Refused("unknown_schema", f"there is no schema {path!r}; there are: {known}")
    if isinstance(schema, str):
        raise Refused("unknown_schema", schema)
    return schema


def guarded(interpret, *arguments):
    """Return the row `interpret(*arguments)`, or the row that says why there is none."""
    try:
        return interpret(*arguments)
    except Refused as refused:
        return refused.args + _NOTHING
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return ("wrong_type", f"cannot interpret the record: {reason(error)}", *_NOTHING)


_NOTHING = (None,) * (len(COLUMNS) - 2)


def checked_value(value):
    """Return `value` if it holds any bytes, refuse it otherwise."""
    if not value:
        raise Refused("empty_value", "the value is null" if value is None else "zero bytes")
    return value


# ---------------------------------------------------------------------------- schemas


class _Strict(list):
    """Symbols of an enum or branches of a union. A list takes index -1 for its last item, and so
    does fastavro with an index that it reads from broken bytes."""

    def __len__(self):
        return 0  # compiled fastavro adds the length to a negative index before it asks

    def __getitem__(self, index):
        if index < 0:
            raise IndexError(f"index {index} of a union or enum")
        return list.__getitem__(self, index)


def _without_conversions(schema):
    # fastavro would turn numbers into dates, which we have to spell ourselves, and refuses the
    # defaults of some published schemas. None is needed to read what was written.
    schema.pop("logicalType", None)
    schema.pop("default", None)
    return schema


class Types:
    """The types of an .avsc. Raises if the file is no schema, or one that hostile bytes can abuse.

    Types are compared as kinds: "int", "string", "record", "array", ... and "string_map".
    """

    def __init__(self, text):
        self.named = {}
        plain = json.loads(text, object_hook=_without_conversions)
        # Expanded, because fastavro looks names up anew for every value.
        parsed = parse_schema(plain, named_schemas=self.named, expand=True)
        self._roots = parsed if isinstance(parsed, list) else [parsed]
        for root in self._roots:
            self._least_bytes(root, ())

    def records_in(self, avro_type):
        """Yield the records that values of `avro_type` are, or hold as branches and items."""
        if isinstance(avro_type, list):
            for branch in avro_type:
                yield from self.records_in(branch)
        elif isinstance(avro_type, str):
            yield from self.records_in(self.named.get(avro_type, {}))
        elif avro_type.get("type") == "record":
            yield avro_type
        else:
            yield from self.records_in(avro_type.get("items", []))

    def find_record(self, needed, optional=()):
        """Return the record with the needed fields, and what is optional of those types; the
        ValueError names what the closest record lacks."""
        optional = dict(optional)
        records = [record for root in self._roots for record in self.records_in(root)]
        for record in reversed(records):  # the file's last type is the outermost one
            if not self._lacking(record, needed, optional):
                return record
        closest = min(records, key=lambda r: len(self._lacking(r, needed, optional)), default=None)
        if closest is None:
            raise ValueError("it holds no record")
        raise ValueError(f"{closest['name']} lacks {self._lacking(closest, needed, optional)}")

    def require(self, avro_type, needed):
        """Raise ValueError unless the records in `avro_type` have the needed fields."""
        for record in self.records_in(avro_type):
            if lacking := self._lacking(record, needed, {}):
                raise ValueError(f"{record['name']} lacks {lacking}")

    def _lacking(self, record, needed, optional):
        """Name the fields that are missing or of another type, "" if there are none."""
        found = {field["name"]: self._kinds(field["type"]) for field in record["fields"]}
        checked = needed | {name: kinds for name, kinds in optional.items() if name in found}
        return ", ".join(
            f"{name} ({kinds.replace(' ', ' or ')})"
            for name, kinds in checked.items()
            if not found.get(name, set()) - {"null"}
            or not found[name] - {"null"} <= set(kinds.split())
        )

    def _kinds(self, avro_type):
        if isinstance(avro_type, list):
            return set().union(*map(self._kinds, avro_type))
        if isinstance(avro_type, dict):
            is_string_map = avro_type["type"] == "map" and avro_type["values"] == "string"
            return {"string_map" if is_string_map else avro_type["type"]}
        return {self.named[avro_type]["type"] if avro_type in self.named else avro_type}

    def _least_bytes(self, avro_type, inside):
        """Fewest bytes of a value. Refuses what hostile bytes could abuse: arrays of items of no
        bytes loop as long as their count says, a record inside itself overflows the stack.
        Makes unions and enums strict on the way."""
        if isinstance(avro_type, list):
            raise TypeError("a union has to be made strict where it is held")
        if isinstance(avro_type, str):
            if avro_type not in self.named:
                return {"null": 0, "float": 4, "double": 8}.get(avro_type, 1)
            avro_type = self.named[avro_type]
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


# ---------------------------------------------------------------------------- reading


def record_of(record, fields, named):
    """Return the type of what is left of `record` with only some of its fields, for fastavro."""
    return {**record, "fields": fields, "__fastavro_parsed": True, "__named_schemas": named}


class Part:
    """Some fields of a record, and the bytes that they were read from."""

    def __init__(self, data, fields):
        self.data, self._fields, self._made = data, fields, None

    def make(self, function):
        """Return `function(fields)`, which is called again only if it raises."""
        if self._made is None:
            self._made = function(self._fields)
        return self._made


class RepeatedPart:
    """Reads fields that are the same in most records of a table. Bytes alone say where a value of
    a type ends and what it is, so where a record goes on with those of an earlier one, they are
    not read again."""

    _MOST_BYTES = 100_000

    def __init__(self, record, fields, named):
        self._record = record_of(record, fields, named)
        self._known = {}

    def read(self, stream, value, table):
        """Return the Part of `value` from where its `stream` stands, and leave it behind that.
        `table` is what the next record of the table will be known by."""
        start = stream.tell()
        known = self._known.get(table)
        if known and value.startswith(known.data, start):
            stream.seek(start + len(known.data))
            return known
        fields = schemaless_reader(stream, self._record, None)
        part = Part(value[start : stream.tell()], fields)
        if len(part.data) <= self._MOST_BYTES:
            keep(self._known, table, part)
        return part


class Reader:
    """Reads data of one record type. Named branches of unions come as (name, value)."""

    def __init__(self, record, fields, named):
        self.record = record_of(record, fields, named)

    def _fields(self, stream, _value):
        return schemaless_reader(stream, self.record, None, return_named_type=True)

    def read(self, value, last=None):
        """Read one datum; return the record and, where bytes remain, the value of the type `last`
        (None if the record ends before)."""
        stream = BytesIO(value)
        more = None
        try:
            record = self._fields(stream, value)
            if last and stream.tell() < len(value):
                more = schemaless_reader(stream, last["type"], None)
        except Exception:  # noqa: BLE001 - bytes raise anything
            raise Refused("not_avro", self._where(value, last)) from None
        if stream.tell() < len(value):
            left = len(value) - stream.tell()
            detail = f"{left} of {len(value)} bytes are left over after the record"
            raise Refused("not_avro", detail + self._looks_like(value, last))
        return record, more

    def _where(self, value, last):
        """Read `value` again field by field, to say where it stops being a record."""
        stream = BytesIO(value)
        for field in [*self.record["fields"], *([last] if last else [])]:
            start = stream.tell()
            try:
                schemaless_reader(stream, {**self.record, "fields": [field]}, None)
            except Exception as error:  # noqa: BLE001 - bytes raise anything
                return (
                    f"{field['name']}, from byte {start} of {len(value)}, cannot be read: "
                    f"{avro_reason(error)}{self._looks_like(value, last)}"
                )
        return f"{len(value)} bytes that are no record"

    def _looks_like(self, value, last):
        """Say what `value`, which is no record, is taken for."""
        if value.lstrip()[:1] in (b"{", b"["):
            return "; it looks like JSON text"
        stream = BytesIO(value)
        stream.seek(5)
        try:
            self._fields(stream, value)
            if last and stream.tell() < len(value):
                schemaless_reader(stream, last["type"], None)
        except Exception:  # noqa: BLE001 - bytes raise anything
            return ""
        if value[:1] != b"\0" or stream.tell() < len(value):
            return ""
        return f"; behind a registry header, {value[:5].hex(' ')}, is a record of the schema"


class TableReader(Reader):
    """A reader to which the field `repeated` is the same in most records of a table, and comes as
    a Part. The table is named by a field before it; if that comes behind, all are taken for one."""

    def __init__(self, record, fields, named, repeated, table):
        super().__init__(record, fields, named)
        at = [field["name"] for field in fields].index(repeated)
        self._before = record_of(record, fields[:at], named)
        self._part = RepeatedPart(record, fields[at : at + 1], named)
        self._behind = record_of(record, fields[at + 1 :], named)
        self._repeated, self._table = repeated, table

    def _fields(self, stream, value):
        before = schemaless_reader(stream, self._before, None, return_named_type=True)
        part = self._part.read(stream, value, before.get(self._table))
        behind = schemaless_reader(stream, self._behind, None, return_named_type=True)
        return before | {self._repeated: part} | behind


def avro_reason(error):
    """Say why bytes could not be read."""
    if isinstance(error, EOFError):
        return "the bytes end inside it"
    if isinstance(error, IndexError):
        return "it has an index that no union or enum of the schema has"
    return reason(error)


# ---------------------------------------------------------------------------- rows


def field_names(fields):
    """Return the columns that `fields` names, and refuse one that it names twice."""
    names = [field["name"] for field in fields]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("wrong_type", f"fields names the column {twice[:100]!r} more than once")
    return names


def check_length(image, names, part):
    """Refuse an image with more values than the table has columns."""
    if len(image) > len(names):
        detail = f"{part} has {len(image)} values for {len(names)} fields"
        raise Refused("wrong_type", detail)


def refused_column(error, name, part):
    """Return the refusal of an image whose column `name` raised `error`."""
    code, detail = error.args if isinstance(error, Refused) else ("wrong_type", reason(error))
    where = part if name is None else f"column {name[:100]!r} of {part}"
    return Refused(code, f"{where}: {detail}")


def completed(operation, names, before, before_is_complete, after, after_is_complete):
    """Return the after image of an update with what only the before image carries: all of its
    columns if that is complete, or if the update changed none of them."""
    if operation == "UPDATE" and after_is_complete is False and before_is_complete:
        return {name: after[name] if name in after else before[name] for name in names}, True
    if operation == "UPDATE" and after == {} and before:
        return dict(before), before_is_complete
    return after, after_is_complete


def keep(known, key, found):
    """Put `found` into a memory that never holds more than a thousand, and return it."""
    if len(known) >= 1000:
        known.clear()
    known[key] = found
    return found


def remembered(function):
    """Keep answers for arguments that come with every message. Plain closures, because
    functools.lru_cache objects cannot be pickled by value."""
    answers = {}

    def answer(argument):
        try:
            return answers[argument]
        except KeyError:
            return keep(answers, argument, function(argument))

    return answer


# ---------------------------------------------------------------------------- values to text

_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)0*([0-9]+))?")
_SPECIAL = re.compile(r"[+-]?[A-Za-z_~]+")
# A longer exponent stays as sent: a few bytes must not become gigabytes.
_MOST_DIGITS_OF_EXPONENT = 4


def plain_decimal(text):
    """Spell a decimal number without exponent, every digit kept."""
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        if _SPECIAL.fullmatch(text):  # NaN, Infinity, ~, NOT_ASSIGNED
            return text
        raise Refused("wrong_type", f"{text[:100]!r} is not a decimal number")
    sign, whole, fraction = match[1], match[2], match[3] or ""
    if len(match[5] or "") > _MOST_DIGITS_OF_EXPONENT:
        return text
    exponent = int(match[4] + match[5]) if match[5] else 0
    if exponent > 0:
        fraction = fraction.ljust(exponent, "0")
        whole, fraction = whole + fraction[:exponent], fraction[exponent:]
    elif exponent < 0:
        whole = whole.rjust(-exponent, "0")
        whole, fraction = whole[:exponent], whole[exponent:] + fraction
    plain = (whole.lstrip("0") or "0") + ("." + fraction if fraction else "")
    return "-" + plain if sign == "-" and plain.strip("0.") else plain


def float_text(value, is_single):
    """Shortest text that reads back to the same number, without exponent, with at least one digit
    after the point: 0.1, 5.0, 10000000000000000.0. Not numbers: NaN, Infinity, -Infinity.
    `is_single`: the column holds four-byte floats, whatever `value` was widened to."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    text = (_single(value) if is_single else None) or repr(value)
    if "e" in text:
        text = plain_decimal(text)
    return text if "." in text else text + ".0"


_LEAST_NORMAL_SINGLE = 2.0**-126


def _single(value):
    """Shortest text that reads back to the same four-byte float, None if `value` is not one."""
    if _as_single(value) != value:
        return None
    # A four-byte float that has a shorter text than six digits is spelled so by six digits, too.
    fewest = 6 if abs(value) >= _LEAST_NORMAL_SINGLE else 1
    for digits in range(fewest, 10):
        text = f"{value:.{digits}g}"
        if _as_single(float(text)) == value:
            return text
    return None


def _as_single(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return None


_decoder = remembered(_charsets.decoder)


def characters(data, charset):
    """Decode text of a database's charset; nothing is ever replaced."""
    decoder = _decoder(charset)
    if decoder is None:
        raise Refused("unknown_charset", f"unknown charset {charset[:100]!r}")
    try:
        return decoder(data)
    except ValueError as error:
        at = getattr(error, "start", 0)
        found = data[at : at + 4].hex()
        raise Refused("not_text", f"not {charset} text: bytes {found} at {at}") from None


_DAY = 86400


def epoch_text(seconds, fraction, digits):
    """YYYY-MM-DD HH:MM:SS[.f] of seconds since 1970 and a fraction of so many digits."""
    days, clock = divmod(seconds, _DAY)
    time = f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
    return f"{_day(days)} {time}{fraction_text(fraction, digits)}"


@remembered
def _day(days):
    """YYYY-MM-DD of a count of days since 1970-01-01, for any year (datetime ends at 9999)."""
    era, day = divmod(days + 719468, 146097)  # eras of 400 years that begin on a first of March
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    return date_text(400 * era + year + (month <= 2), month, day + 1)


def date_text(year, month, day):
    """YYYY-MM-DD, zero dates kept."""
    if not (0 <= month <= 12 and 0 <= day <= 31):
        raise Refused("wrong_type", f"year {year}, month {month}, day {day} is no date")
    return f"{year_text(year)}-{month:02d}-{day:02d}"


def year_text(year):
    """YYYY, with a sign before Christ."""
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def time_text(hour, minute, second, fraction, digits, most_hours):
    """HH:MM:SS[.f] of parts without sign."""
    if not (0 <= hour <= most_hours and 0 <= minute <= 59 and 0 <= second <= 60):
        detail = f"hour {hour}, minute {minute}, second {second} is no time"
        raise Refused("wrong_type", detail)
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction_text(fraction, digits)}"


def fraction_text(fraction, digits):
    """.f without trailing zeros, nothing for none."""
    if not fraction:
        return ""
    if not 0 <= fraction < 10**digits:
        raise Refused("wrong_type", f"a fraction of {fraction} does not fit {digits} digits")
    return "." + str(fraction).zfill(digits).rstrip("0")


# ---------------------------------------------------------------------------- rows to Arrow


def to_arrow(rows):
    """Return tuples in the order of COLUMNS as a pyarrow StructArray of RETURN_TYPE. A row that
    Arrow does not take becomes one that says why, as where a user's schema lets names be null."""
    try:
        return _struct_array(rows)
    except Exception:  # noqa: BLE001 - no message may stop its neighbours
        return _struct_array([guarded(_checked_row, row) for row in rows])


def _checked_row(row):
    _struct_array([row])
    return row


def _struct_array(rows):
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    kinds = (column.split()[1] for column in _RECORD_TYPE.split(", "))
    arrays = [_column(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    stated = ddl.to_arrow([ddl.read(row[_DDL]) for row in rows])
    return pa.StructArray.from_arrays([*arrays, stated], names=[*COLUMNS, "stated"])


def _column(values, kind):
    if kind == "map<string,string>":
        return _map_column(values)
    types = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
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
