"""Decode records of OceanBase's data subscription (Avro) into one flat row.

`register` makes three SQL functions: `decode_oceanbase_avro(value binary, schema string)` for one
message, `oceanbase_shard(value, schema)` to find the messages that carry only a part of a record,
`assemble_oceanbase_avro(values array<binary>, schema)` for all parts of one. `decode`, `shard` and
`assemble` are the same in plain Python. Bytes that cannot be decoded give a row with `error_code`
and `error_detail`; nothing raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs import _avro
from udfs._arrow import register_arrow
from udfs._avro import find_schema, guarded, register_decoder
from udfs._avro_refused import checked_value
from udfs._oceanbase_schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_SCHEMA = "avro/oceanbase_avro.avsc"

SHARD_TYPE = "id bigint, total int, `index` int"


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `decode_oceanbase_avro`, `assemble_oceanbase_avro` and `oceanbase_shard`.

    `project_dir` is the folder that holds `avro/`. Every `avro/*.avsc` is read and parsed here,
    on the driver, and travels with the functions.
    `schema` is a path relative to `project_dir`, null means avro/oceanbase_avro.avsc. A file that
    is not an OceanBase schema is no error here; it is one for the messages that ask for it.
    """
    schemas = load_schemas(_avro.OWN) | load_schemas(project_dir)

    def find_shards(values: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = zip(values.to_pylist(), paths.to_pylist(), strict=True)
        return shards_to_arrow([shard(value, path, schemas) for value, path in pairs])

    register_decoder(
        spark, "decode_oceanbase_avro", lambda value, path: decode(value, path, schemas)
    )
    register_decoder(
        spark, "assemble_oceanbase_avro", lambda values, path: assemble(values, path, schemas)
    )
    register_arrow(spark, "oceanbase_shard", find_shards, SHARD_TYPE)


def load_schemas(project_dir: Path) -> dict[str, Schema | str]:
    """Return {"avro/<file>": Schema} of `project_dir`; a file that cannot serve as an OceanBase
    schema maps to the sentence that says why."""
    return _avro.load_schemas(project_dir, Schema, "an OceanBase schema")


def decode(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    """Decode one Kafka value (bytes or None); return a tuple in the order of COLUMNS.

    `path` names the schema in `schemas` (see `load_schemas`); None means
    avro/oceanbase_avro.avsc. source_timestamp is in seconds. A shard, one of several messages
    that make up a record, has shard_total and shard_index set and no images.
    Never raises. Error codes: empty_value, unknown_schema, not_avro (the bytes are no such
    record), wrong_type (a record whose parts do not fit), not_text.
    """
    return guarded(_decode, value, path, schemas)


def _decode(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    return _schema(path, schemas).row(checked_value(value))


def assemble(
    values: Sequence[bytes] | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    """Decode a record that came in shards: all of its values in the order of their index. Rows,
    errors and arguments otherwise as of `decode`."""
    return guarded(_assemble, values, path, schemas)


def _assemble(
    values: Sequence[bytes] | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[Any, ...]:
    return _schema(path, schemas).assembled_row(checked_value(values))


def shard(
    value: bytes | None, path: str | None, schemas: Mapping[str, Schema | str]
) -> tuple[int, int, int] | None:
    """Return (id, total, index) of a value that `decode` gives as a shard, None for any other."""
    try:
        return _schema(path, schemas).shard(value)
    except Exception:  # noqa: BLE001 - what is wrong with it, decode says
        return None


def shards_to_arrow(shards: Iterable[tuple[int, int, int] | None]) -> pa.StructArray:
    """Return what `shard` returns as a pyarrow StructArray of SHARD_TYPE."""
    kind = pa.struct([("id", pa.int64()), ("total", pa.int32()), ("index", pa.int32())])
    names = "id", "total", "index"
    return pa.array([found and dict(zip(names, found, strict=True)) for found in shards], kind)


def _schema(path: str | None, schemas: Mapping[str, Schema | str]) -> Schema:
    return find_schema(schemas, DEFAULT_SCHEMA if path is None else path)
