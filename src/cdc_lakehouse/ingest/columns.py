"""Bring messages into the columns that are staged, those of Spark's Kafka source."""

import pyarrow as pa
import pyarrow.compute as pc

from cdc_lakehouse.ingest.names import Names

# The columns of Spark's Kafka source.
STAGED = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestampType": pa.int32(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
    }
)
NEEDED = ("topic", "partition", "offset", "value")


class Refused(Exception):
    """Why a file cannot be landed, and what to do: the rest of a sentence that begins with it."""


def as_staged(batch: pa.RecordBatch, target: pa.Field) -> pa.Array:
    """Return a column of a batch as it is staged; nulls if the batch lacks it.

    Raises:
        Refused: it has a type that no message has there.
    """
    found = target.name in batch.schema.names
    column = batch[target.name] if found else pa.nulls(batch.num_rows)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    # A cast takes much that is no message: numbers for times, texts for numbers.
    kinds = (pa.types.is_integer, pa.types.is_timestamp, _is_text, _is_headers)
    alike = any(is_(kind) and is_(target.type) for is_ in kinds) or pa.types.is_null(kind)
    try:
        if not alike:
            raise pa.ArrowTypeError(f"{target.type} is needed")
        if getattr(kind, "unit", "") == "ns":
            # The microsecond that has begun, also before 1970, where a cast takes the next one.
            column = pc.floor_temporal(column.cast(pa.timestamp("ns", "UTC")), unit="microsecond")
        return column.cast(target.type)
    except pa.ArrowException as error:
        text = f"has the column {target.name} as {kind}: {error}. Export it with Kafka's type."
        raise Refused(text) from None


def renamed(topics: pa.Array, names: Names) -> pa.Array:
    """Return topics under the names that they land under."""
    if not names.pairs:
        return topics
    found = topics.dictionary_encode()
    new = [names.of(topic) for topic in found.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(
        found.indices, pa.array(new, pa.string())
    ).dictionary_decode()


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _is_headers(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    entry = kind.value_type
    return pa.types.is_struct(entry) and {"key", "value"} <= {part.name for part in entry}
