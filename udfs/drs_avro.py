"""Decode records of Huawei DRS (Avro) into one flat row.

`register` makes `decode_drs_avro(value binary, schema string)` a SQL function; `decode` is the same
for one value in plain Python. DRS publishes its schema as an archive, so users bring the file. Its
fields tell whether its records are like those of DTS or of OceanBase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from udfs import _avro, dts_avro
from udfs._avro import COLUMNS, find_schema, guarded, register_decoder
from udfs._avro_refused import Refused, checked_value
from udfs._oceanbase_schema import Schema as OceanBaseSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Schema(Protocol):
    """Reads the records of either shape."""

    def row(self, value: bytes) -> tuple[Any, ...]: ...


_SHARD_TOTAL = COLUMNS.index("shard_total")
_SHAPES: dict[str, Callable[[str], Schema]] = {"DTS": dts_avro.Schema, "OceanBase": OceanBaseSchema}


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `decode_drs_avro(value binary, schema string)` in the session `spark`.

    `project_dir` is the folder that holds `avro/`; `schema` is a path relative to it. A file that
    is not of a known shape is no error here; it is one for the messages that ask for it.
    """
    schemas = load_schemas(_avro.OWN) | load_schemas(project_dir)
    register_decoder(spark, "decode_drs_avro", lambda value, path: decode(value, path, schemas))


def load_schemas(project_dir: Path) -> dict[str, Schema | str]:
    """Return {"avro/<file>": schema} of `project_dir`; a file of neither shape maps to the
    sentence that says what it lacks."""
    return _avro.load_schemas(project_dir, _schema_of, "a DRS schema that can be read")


def _schema_of(text: str) -> Schema:
    lacks = []
    for name, shape in _SHAPES.items():
        try:
            return shape(text)
        except ValueError as error:
            lacks.append(f"for records like those of {name}: {error}")
    raise ValueError("; ".join(lacks))


def decode(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    """Decode one Kafka value (bytes or None); return a tuple in the order of COLUMNS.

    `path` names the schema in `schemas` (see `load_schemas`). Never raises. Error codes as of the
    decoder of the shape, and unknown_schema if no file is named.
    """
    return guarded(_decode, value, path, schemas)


def _decode(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    if path is None:
        detail = (
            "DRS publishes its Avro schema as an archive: put its .avsc into avro/ and name the "
            "file in the column avro_schema of seeds/topics.csv"
        )
        raise Refused("unknown_schema", detail)
    row = find_schema(schemas, path).row(checked_value(value))
    if row[_SHARD_TOTAL] is not None:
        index, total = row[_SHARD_TOTAL + 1], row[_SHARD_TOTAL]
        detail = f"shard {index} of {total}: DRS does not document records in several messages"
        raise Refused("wrong_type", detail)
    return row
