"""DTS's Avro in Spark, as people read it: fastavro in a function over Arrow arrays."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from bench.topics import COLUMNS

SCHEMA_FILE = Path(__file__).parents[2] / "avro" / "dts_avro.avsc"
OPERATIONS = ("INIT", "INSERT", "UPDATE", "DELETE")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plain(value: dict) -> Any:
    return value["value"]


def number(value: dict) -> int:
    return int(value["value"])


def text(value: dict) -> str:
    return value["value"].decode()


def day(value: dict) -> date:
    return date(value["year"], value["month"], value["day"])


def wall_clock(value: dict) -> datetime:
    return datetime(*value.values())  # `millis`, the last, holds microseconds


def moment(value: dict) -> datetime:
    return EPOCH + timedelta(seconds=value["timestamp"], microseconds=value["millis"])


# Of each type of MySQL: what reads its values, and the types of Arrow and Spark that hold them.
TYPES: dict[str, tuple[Callable[[dict], Any], pa.DataType, str]] = {
    "bigint": (number, pa.int64(), "bigint"),
    "int": (number, pa.int32(), "int"),
    "smallint": (number, pa.int16(), "smallint"),
    "tinyint": (number, pa.int8(), "tinyint"),
    "decimal": (plain, pa.string(), "string"),
    "double": (plain, pa.float64(), "double"),
    "varchar": (text, pa.string(), "string"),
    "char": (text, pa.string(), "string"),
    "text": (text, pa.string(), "string"),
    "date": (day, pa.date32(), "date"),
    "datetime": (wall_clock, pa.timestamp("us"), "timestamp_ntz"),
    "timestamp": (moment, pa.timestamp("us", "UTC"), "timestamp"),
}
READERS = {name: TYPES[kind.split("(")[0]] for name, kind in COLUMNS.items()}
SEQUENCE = ("file", "offset", "id")
ARROW_SEQUENCE = pa.struct([(name, pa.int64()) for name in SEQUENCE])
SPARK_TYPE = (
    f"_deleted boolean, _sequence struct<{', '.join(f'{name}: bigint' for name in SEQUENCE)}>, "
    + ", ".join(f"{name} {spark_type}" for name, (_, _, spark_type) in READERS.items())
)


def register_decoder(spark: SparkSession) -> None:
    """Make `decode_dts_avro(value)` a function of Spark SQL; it is null where there is no row."""
    named: dict = {}
    types = json.loads(SCHEMA_FILE.read_text())
    schema = [parse_schema(type, named_schemas=named, expand=True) for type in types][-1]

    def decode(values: pa.Array) -> pa.Array:
        return decode_all(values.to_pylist(), schema)

    spark.udf.register("decode_dts_avro", arrow_udf(decode, SPARK_TYPE))


def decode_all(values: list[bytes], schema: dict) -> pa.Array:
    """Return the change of each message."""
    records = [schemaless_reader(BytesIO(value), schema, None) for value in values]
    images = [image_of(record) for record in records]
    columns = [
        pa.array([record["operation"] == "DELETE" for record in records]),
        pa.array([sequence_of(record) for record in records], ARROW_SEQUENCE),
    ]
    for name, (read, arrow_type, _) in READERS.items():
        held = [image.get(name) for image in images]
        read_values = [None if value is None else read(value) for value in held]
        columns.append(pa.array(read_values, arrow_type))
    is_none = pa.array([not image for image in images])
    return pa.StructArray.from_arrays(columns, ["_deleted", "_sequence", *READERS], mask=is_none)


def image_of(record: dict) -> dict[str, dict | None]:
    """Return the row that a record is about, empty if it is about none."""
    if record["operation"] not in OPERATIONS:
        return {}
    names = [field["name"] for field in record["fields"]]
    return dict(zip(names, record["afterImages"] or record["beforeImages"], strict=True))


def sequence_of(record: dict) -> dict[str, int]:
    """Return where a change is in the binlog; the full load has no place there and comes first."""
    offset, _, file = record["sourcePosition"].partition("@")
    return {"file": int(file or 0), "offset": int(offset or 0), "id": record["id"]}
