"""What the Avro decoders of this folder share: the columns of a row, SQL functions, Arrow.

A decoder is a class that takes the text of an .avsc, raises ValueError if that is not its shape,
and has `row(value)`: one bare Avro datum (no header, no schema id) to a tuple in the order of
COLUMNS. Whatever is wrong with the bytes is raised as `Refused`; `decode` makes a row of that.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import pyarrow as pa

from udfs import ddl
from udfs._arrow import register_arrow
from udfs._avro_refused import Refused, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
# The folder of avro/ with the formats' own schemas; a topic's own is in the project in use.
OWN = Path(__file__).parents[1]
COLUMNS = tuple(column.split()[0] for column in _RECORD_TYPE.split(", "))
_DDL = COLUMNS.index("ddl")
_Shape = TypeVar("_Shape")
_Arguments = TypeVarTuple("_Arguments")
# With what `read_ddl` says of the statement.
RETURN_TYPE = f"{_RECORD_TYPE}, stated struct<{ddl.RETURN_TYPE}>"


def register_decoder(
    spark: SparkSession, name: str, decode_one: Callable[[Any, str | None], tuple[Any, ...]]
) -> None:
    """Register `name(value, schema)` in the session; `decode_one` returns a tuple of COLUMNS."""

    def decode_all(values: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = zip(values.to_pylist(), paths.to_pylist(), strict=True)
        gc.disable()  # rows hold no cycles, and it takes longer to look for some the more there are
        try:
            return to_arrow([decode_one(value, path) for value, path in pairs])
        finally:
            gc.enable()

    register_arrow(spark, name, decode_all, RETURN_TYPE)


def load_schemas(
    project_dir: Path, shape: Callable[[str], _Shape], title: str
) -> dict[str, _Shape | str]:
    """Return {"avro/<file>": shape(text)} of `project_dir`; a file that is not of that shape maps
    to the sentence that says why, for the messages that ask for it."""
    schemas: dict[str, _Shape | str] = {}
    for path in sorted(Path(project_dir, "avro").glob("*.avsc")):
        name = f"avro/{path.name}"
        try:
            schemas[name] = shape(path.read_text(encoding="utf-8"))
        except Exception as error:  # noqa: BLE001 - no file may stop the session
            why = str(error) if isinstance(error, ValueError) else reason(error)
            schemas[name] = f"{name} is not {title}: {why}"
    return schemas


def find_schema(schemas: Mapping[str, _Shape | str], path: str) -> _Shape:
    """Return the decoder of `path`, or refuse with a sentence."""
    schema = schemas.get(path)
    if schema is None:
        known = ", ".join(schemas) or "none"
        raise Refused("unknown_schema", f"there is no schema {path!r}; there are: {known}")
    if isinstance(schema, str):
        raise Refused("unknown_schema", schema)
    return schema


def guarded(
    interpret: Callable[[*_Arguments], tuple[Any, ...]], *arguments: *_Arguments
) -> tuple[Any, ...]:
    """Return the row `interpret(*arguments)`, or the row that says why there is none."""
    try:
        return interpret(*arguments)
    except Refused as refused:
        return refused.args + _NOTHING
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return ("wrong_type", f"cannot interpret the record: {reason(error)}", *_NOTHING)


_NOTHING = (None,) * (len(COLUMNS) - 2)


def to_arrow(rows: Sequence[tuple[Any, ...]]) -> pa.StructArray:
    """Return tuples in the order of COLUMNS as a pyarrow StructArray of RETURN_TYPE. A row that
    Arrow does not take becomes one that says why, as where a user's schema lets names be null."""
    try:
        return _struct_array(rows)
    except Exception:  # noqa: BLE001 - no message may stop its neighbours
        return _struct_array([guarded(_checked_row, row) for row in rows])


def _checked_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    _struct_array([row])
    return row


def _struct_array(rows: Sequence[tuple[Any, ...]]) -> pa.StructArray:
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    kinds = (column.split()[1] for column in _RECORD_TYPE.split(", "))
    arrays = [_column(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    stated = ddl.to_arrow([ddl.read(row[_DDL]) for row in rows])
    return pa.StructArray.from_arrays([*arrays, stated], names=[*COLUMNS, "stated"])


def _column(values: Sequence[Any], kind: str) -> pa.Array:
    if kind == "map<string,string>":
        return map_column(values)
    types = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "boolean": pa.bool_(),
        "array<string>": pa.list_(pa.string()),
    }
    return pa.array(values, types[kind])


def map_column(maps: Iterable[Mapping[str, str | None] | None]) -> pa.MapArray:
    # Keys and items flat: three times as fast as handing pyarrow a list of pairs per row.
    offsets = [0]
    keys: list[str] = []
    items: list[str | None] = []
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
