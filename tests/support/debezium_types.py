"""Every type of the tables of types on the pages of Debezium's connectors, as it is written.

A Sent is what a column of one type of one database is in a message, in one mode of the connector:
its schema as Kafka Connect's JsonConverter writes it, its value in JSON, and the canonical text of
the value, which is worked out from the value itself. From the pages of version 3.7 of the
connectors for MySQL, MariaDB, PostgreSQL, SQL Server and Oracle.
"""

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from io import BytesIO

from fastavro import parse_schema, schemaless_writer

CONNECT, DATA, TIME = "org.apache.kafka.connect.data", "io.debezium.data", "io.debezium.time"
DECIMAL, VARIABLE = f"{CONNECT}.Decimal", f"{DATA}.VariableScaleDecimal"
EPOCH = datetime(1970, 1, 1)
EXACT = Context(prec=100)
AVRO = {"int8": "int", "int16": "int", "int32": "int", "int64": "long"}
AVRO |= {"boolean": "boolean", "string": "string", "bytes": "bytes"}
AVRO |= {"float": "float", "double": "double"}


@dataclass(frozen=True)
class Sent:
    """`number` is the value with `decimal.format=NUMERIC`, the same but for decimals."""

    name: str
    schema: dict
    value: object
    text: str
    number: object


def sent(name, kind, value, text=None, number=None, semantic=None, **parameters):
    schema = kind if isinstance(kind, dict) else {"type": kind}
    if semantic:
        schema = {**schema, "name": semantic, "version": 1}
    if parameters:
        schema = {**schema, "parameters": parameters}
    text = str(value) if text is None else text
    return Sent(name, schema, value, text, value if number is None else number)


def in_base64(data):
    return b64encode(data).decode()


def unscaled(number, scale):
    """The digits of a decimal as Java's BigInteger has them, in Base64."""
    whole = int(number.scaleb(scale, EXACT))
    length = 1
    while not -(1 << (8 * length - 1)) <= whole < 1 << (8 * length - 1):
        length += 1
    return in_base64(whole.to_bytes(length, "big", signed=True))


def plain(name, kind, *values, semantic=None):
    return [sent(name, kind, value, semantic=semantic) for value in values]


def decimals(name, precision, scale, *texts):
    """A decimal by `decimal.handling.mode`: precise, string, double."""
    told = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    for number in map(Decimal, texts):
        text = f"{number.quantize(Decimal(1).scaleb(-max(scale, 0)), context=EXACT):f}"
        value = unscaled(number, scale)
        yield sent(f"{name} precise", "bytes", value, text, number, DECIMAL, **told)
        yield sent(f"{name} string", "string", text)
    yield sent(f"{name} double", "double", 10.5, "10.5")


def variable(name, *texts):
    fields = [{"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"}]
    for number in map(Decimal, texts):
        scale = -number.as_tuple().exponent
        value = {"scale": scale, "value": unscaled(number, scale)}
        schema = {"type": "struct", "fields": fields}
        yield sent(name, schema, value, f"{number:f}", semantic=VARIABLE)


def floats(name, kind):
    return [sent(name, kind, value, text) for value, text in ((0.5, "0.5"), (-1024.25, "-1024.25"))]


def binary(name):
    """Bytes by `binary.handling.mode`; what is a text in the schema stays that text."""
    data = bytes((0, 255, 62, 18))
    yield sent(f"{name} bytes", "bytes", in_base64(data), data.hex())
    yield sent(f"{name} none", "bytes", "", "")
    yield sent(f"{name} base64", "string", in_base64(data))
    yield sent(f"{name} base64-url-safe", "string", urlsafe_b64encode(data).decode())
    yield sent(f"{name} hex", "string", data.hex())


def bits(name, number, length):
    size = (min(length, number.bit_length()) + 7) // 8
    value = in_base64(number.to_bytes(size, "little"))
    return sent(name, "bytes", value, str(number), semantic=f"{DATA}.Bits", length=str(length))


def dates(name):
    for day in (date(2018, 6, 20), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)):
        days = (day - EPOCH.date()).days
        for semantic in (f"{TIME}.Date", f"{CONNECT}.Date"):
            yield sent(name, "int32", days, day.isoformat(), semantic=semantic)
        iso = f"{day.isoformat()}Z"
        yield sent(f"{name} isostring", "string", iso, day.isoformat(), semantic=f"{TIME}.IsoDate")
        yield structured(name, "Date", day.isoformat(), year=day.year, month=day.month, day=day.day)
    for days, text in ((2932897, "10000-01-01"), (-719529, "-0001-12-31")):
        yield sent(f"{name} beyond", "int32", days, text, semantic=f"{TIME}.Date")


CLOCKS = {"03": 3, "37.5": 3, "03.123456": 6, "03.1234567": 7}


def times(name):
    """A clock by `time.precision.mode`, in as many digits as a value of the mode has."""
    for seconds, digits in CLOCKS.items():
        text = f"13:37:{seconds}"
        whole, _, fraction = seconds.partition(".")
        clock = 13 * 3600 + 37 * 60 + int(whole)
        nanos = clock * 10**9 + int(fraction.ljust(9, "0"))
        if digits <= 3:
            for semantic in (f"{TIME}.Time", f"{CONNECT}.Time"):
                yield sent(name, "int32", nanos // 10**6, text, semantic=semantic)
        if digits <= 6:
            yield sent(name, "int64", nanos // 10**3, text, semantic=f"{TIME}.MicroTime")
        yield sent(name, "int64", nanos, text, semantic=f"{TIME}.NanoTime")
        yield sent(f"{name} isostring", "string", f"{text}Z", text, semantic=f"{TIME}.IsoTime")
        parts = {"hour": 13, "minute": 37, "second": int(whole), "nanos": nanos % 10**9}
        yield structured(name, "Time", text, **parts)


MOMENTS = ("2018-06-20 13:37:03", "1969-12-31 23:59:59.5", "0001-01-01 00:00:00.123456")


def timestamps(name):
    for text in MOMENTS:
        moment = datetime.fromisoformat(text)
        micros = (moment - EPOCH) // timedelta(microseconds=1)
        if micros % 1000 == 0:
            for semantic in (f"{TIME}.Timestamp", f"{CONNECT}.Timestamp"):
                yield sent(name, "int64", micros // 1000, text, semantic=semantic)
        yield sent(name, "int64", micros, text, semantic=f"{TIME}.MicroTimestamp")
        if moment.year > 1900:
            yield sent(name, "int64", micros * 1000, text, semantic=f"{TIME}.NanoTimestamp")
        iso = f"{text.replace(' ', 'T')}Z"
        yield sent(f"{name} isostring", "string", iso, text, semantic=f"{TIME}.IsoTimestamp")
        parts = ("year", "month", "day", "hour", "minute", "second")
        told = {part: getattr(moment, part) for part in parts}
        yield structured(name, "Timestamp", text, **told, nanos=moment.microsecond * 1000)
    told = {"infinity": (9223372036825200000, 1), "-infinity": (-9223372036832400000, -1)}
    for text, (micros, _) in told.items():
        yield sent(f"{name} {text}", "int64", micros, text, semantic=f"{TIME}.MicroTimestamp")


def zoned(name):
    semantic = f"{TIME}.ZonedTimestamp"
    for text in MOMENTS:
        yield sent(name, "string", f"{text.replace(' ', 'T')}Z", text, semantic=semantic)
    value = "2018-06-20T13:37:03.5+02:00"
    yield sent(name, "string", value, "2018-06-20 13:37:03.5 +02:00", semantic=semantic)
    yield sent(name, "string", "infinity", semantic=semantic)


def structured(name, kind, text, **parts):
    fields = [{"type": "int32", "field": part, "optional": True} for part in parts]
    schema = {"type": "struct", "fields": fields}
    return sent(f"{name} structured", schema, parts, text, semantic=f"{TIME}.Structured{kind}")


def durations(name):
    """An interval by `interval.handling.mode`: numeric, string."""
    yield sent(f"{name} numeric", "int64", -86400000000, semantic=f"{TIME}.MicroDuration")
    yield sent(f"{name} string", "string", "P1Y2M3DT4H5M6.78S", semantic=f"{TIME}.Interval")


POINT = bytes.fromhex("0101000000") + bytes(16)


def geometry(name, kind="Geometry", with_wkb=True):
    fields = [{"type": "bytes", "field": "wkb", "optional": True}]
    fields += [{"type": "int32", "field": "srid", "optional": True}]
    value = {"wkb": in_base64(POINT) if with_wkb else None, "srid": 4326}
    if kind == "Point":
        fields += [{"type": "double", "field": axis} for axis in "xy"]
        value |= {"x": 0.0, "y": 0.0}
    schema = {"type": "struct", "fields": fields}
    return sent(name, schema, value, POINT.hex(), semantic=f"{DATA}.geometry.{kind}")


def lists(name, items, value, text=None, number=None):
    schema = {"type": "array", "items": {**items, "optional": True}}
    return sent(name, schema, value, text or json.dumps(value, separators=(",", ":")), number)


def texts(name, *values, semantic=None):
    return plain(name, "string", *values, semantic=semantic and f"{DATA}.{semantic}")


MYSQL = [
    sent("BOOLEAN", "boolean", True, "1"),
    sent("BIT(1)", "boolean", False, "0"),
    *(bits(f"BIT({length})", (1 << length) - 2, length) for length in (2, 8, 9, 20, 64)),
    *plain("TINYINT", "int16", -128, 0, 255),
    *plain("SMALLINT", "int16", -32768, 32767),
    *plain("SMALLINT UNSIGNED", "int32", 65535),
    *plain("MEDIUMINT", "int32", -8388608, 16777215),
    *plain("INT", "int32", -2147483648, 2147483647),
    *plain("INT UNSIGNED", "int64", 4294967295),
    *plain("BIGINT, BIGINT UNSIGNED long", "int64", -9223372036854775808, 9223372036854775807),
    *decimals("BIGINT UNSIGNED", 20, 0, "0", "1234", "18446744073709551615"),
    *floats("REAL", "float"),
    *floats("FLOAT, DOUBLE", "double"),
    *texts("CHAR, VARCHAR, TEXT", "", "1234", "é 😀", "true"),
    *binary("BINARY, VARBINARY, BLOB"),
    *texts("JSON", '{"a": [1.50, true]}', semantic="Json"),
    *texts("ENUM", "small", semantic="Enum"),
    *texts("SET", "a,b", semantic="EnumSet"),
    *plain("YEAR", "int32", 2155, semantic=f"{TIME}.Year"),
    *zoned("TIMESTAMP"),
    *dates("DATE"),
    *times("TIME"),
    sent("TIME", "int64", -3020399000000, "-838:59:59", semantic=f"{TIME}.MicroTime"),
    *timestamps("DATETIME"),
    *decimals("DECIMAL(10,2)", 10, 2, "0", "-0.01", "10.5", "99999999.99"),
    *decimals("DECIMAL(65,30)", 65, 30, "-" + "9" * 35 + "." + "9" * 30),
    geometry("GEOMETRY, LINESTRING, POLYGON, MULTIPOINT"),
    geometry("POINT", "Point"),
    sent("VECTOR", {"type": "array", "items": {"type": "float"}}, [0.5, 1.5], "[0.5,1.5]"),
]
POSTGRESQL = [
    sent("BOOLEAN", "boolean", True, "1"),
    sent("BIT(1)", "boolean", True, "1"),
    bits("BIT(5)", 22, 5),
    bits("BIT VARYING", 513, 2147483647),
    *plain("SMALLINT", "int16", -32768),
    *plain("INTEGER, SERIAL", "int32", 2147483647),
    *plain("BIGINT, OID", "int64", 9223372036854775807),
    *floats("REAL", "float"),
    *floats("DOUBLE PRECISION", "double"),
    *texts("CHAR, TEXT, CITEXT, INET, MACADDR, INT4RANGE", "a", "1234", "192.168.0.0/24", "[1,5)"),
    *zoned("TIMESTAMPTZ"),
    *plain("TIMETZ", "string", "13:37:03.5Z", semantic=f"{TIME}.ZonedTime"),
    *durations("INTERVAL"),
    *binary("BYTEA"),
    *texts("JSON, JSONB", '{"a": 1}', semantic="Json"),
    *texts("XML", "<a>1</a>", semantic="Xml"),
    *texts("UUID", "0e1c3b2a-0000-4000-8000-000000000001", semantic="Uuid"),
    *texts("LTREE", "a.b", semantic="Ltree"),
    *texts("ENUM", "small", semantic="Enum"),
    *texts("TSVECTOR", "'a':1", semantic="Tsvector"),
    *texts("HSTORE json", '{"key" : "val"}', semantic="Json"),
    geometry("POINT", "Point"),
    geometry("POINT of the coordinates alone", "Point", with_wkb=False),
    geometry("GEOMETRY"),
    geometry("GEOGRAPHY", "Geography"),
    *dates("DATE"),
    *times("TIME"),
    *timestamps("TIMESTAMP"),
    *decimals("NUMERIC(5,2), MONEY", 5, 2, "123.45", "-1", "0.07"),
    *variable("NUMERIC", "12.345", "-7", "1E+3"),
    lists("TEXT[]", {"type": "string"}, ["a", "b"]),
    lists("INTEGER[]", {"type": "int32"}, [1, 2]),
    lists("BYTEA[]", {"type": "bytes"}, ["AQ=="]),
    lists("BOOLEAN[]", {"type": "boolean"}, [True, False]),
]
SQLSERVER = [
    sent("BIT", "boolean", False, "0"),
    *plain("TINYINT, SMALLINT", "int16", 255),
    *plain("INT", "int32", 1),
    *plain("BIGINT", "int64", -1),
    *floats("REAL", "float"),
    *floats("FLOAT", "double"),
    *texts("CHAR, NVARCHAR, NTEXT", "a"),
    *texts("XML", "<a/>", semantic="Xml"),
    *zoned("DATETIMEOFFSET"),
    *dates("DATE"),
    *times("TIME"),
    *timestamps("DATETIME, SMALLDATETIME, DATETIME2"),
    *decimals("NUMERIC, DECIMAL", 18, 4, "1234.5678"),
    *decimals("MONEY", 19, 4, "-922337203685477.5808"),
    *binary("BINARY, VARBINARY"),
]
ORACLE = [
    *texts("CHAR, VARCHAR2, CLOB", "a", "1234"),
    *binary("BLOB, RAW"),
    *floats("BINARY_FLOAT", "float"),
    *floats("BINARY_DOUBLE", "double"),
    *plain("NUMBER(P <= 2)", "int8", 99),
    *plain("NUMBER(P <= 4)", "int16", 9999),
    *plain("NUMBER(P <= 9)", "int32", 999999999),
    *plain("NUMBER(P <= 18)", "int64", 999999999999999999),
    *decimals("NUMBER(38,0)", 38, 0, "9" * 38, "1234"),
    *decimals("NUMBER(38,-2)", 38, -2, "1200", "-100"),
    *decimals("NUMBER(3,5)", 3, 5, "0.00123"),
    *variable("NUMBER, FLOAT", "12.345", "-0.1", "1E+3"),
    *timestamps("DATE, TIMESTAMP"),
    *zoned("TIMESTAMP WITH TIME ZONE, WITH LOCAL TIME ZONE"),
    *durations("INTERVAL"),
    *texts("XMLTYPE", "<a/>", semantic="Xml"),
]
DATABASES = {"mysql": MYSQL, "postgresql": POSTGRESQL, "sqlserver": SQLSERVER, "oracle": ORACLE}


def json_message(field, value, part=None):
    """A row `{v: value}`, of an image or alone, beside its schema."""
    fields, payload = [{**field, "optional": True, "field": "v"}], {"v": value}
    if part:
        fields = [{"type": "struct", "fields": fields, "optional": True, "field": part}]
        payload = {part: payload, "op": "c"}
    return to_json({"schema": {"type": "struct", "fields": fields}, "payload": payload})


def to_json(document):
    """JSON with decimals as numbers; Java writes an exponent in capitals."""
    return json.dumps(_marked(document)).replace('"#', "").replace('#"', "").encode()


def _marked(value):
    if isinstance(value, Decimal):
        return f"#{value}#"
    if isinstance(value, dict):
        return {name: _marked(each) for name, each in value.items()}
    return value


def avro_type(schema, name="V"):
    """The type of Avro that AvroConverter makes of a type of Connect."""
    kind, told = schema["type"], {}
    if "name" in schema:
        told = {"connect.name": schema["name"], "connect.version": 1}
    if "parameters" in schema:
        told["connect.parameters"] = schema["parameters"]
    if kind in ("int8", "int16"):
        told["connect.type"] = kind
    if kind == "struct":
        fields = [
            {"name": each["field"], "type": ["null", avro_type(each, each["field"])]}
            for each in schema["fields"]
        ]
        return {"type": "record", "name": name, "fields": fields, **told}
    if kind == "array":
        return {"type": "array", "items": avro_type(schema["items"]), **told}
    if schema.get("name") == DECIMAL and int(schema["parameters"]["scale"]) >= 0:
        precision = int(schema["parameters"]["connect.decimal.precision"])
        scale = int(schema["parameters"]["scale"])
        told |= {"logicalType": "decimal", "precision": max(precision, scale), "scale": scale}
    return {"type": AVRO[kind], **told}


def avro_row(field, name="Value"):
    return {"type": "record", "name": name, "fields": [{"name": "v", "type": avro_type(field)}]}


def avro_datum(schema, datum, number):
    stream = BytesIO()
    bare = json.loads(json.dumps(schema).replace('"logicalType"', '"told"'))
    schemaless_writer(stream, parse_schema(bare), datum)
    return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def avro_value(schema, value):
    """A value of JsonConverter as fastavro writes it."""
    if schema["type"] == "bytes":
        return None if value is None else b64decode(value)
    if schema["type"] == "struct":
        return {each["field"]: avro_value(each, value[each["field"]]) for each in schema["fields"]}
    if schema["type"] == "array":
        return [avro_value(schema["items"], each) for each in value]
    return value
