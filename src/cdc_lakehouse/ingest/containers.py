"""Read Avro container files that hold messages, one a record, as Event Hubs captures them."""

from collections.abc import Iterator
from typing import IO, Any

import fastavro

from cdc_lakehouse.ingest.columns import Refused

CONTAINER = ".avro"
BODY = "Body"  # the field with the bytes of a message


def is_container(path: str) -> bool:
    """Tell an Avro container file."""
    return path.lower().endswith(CONTAINER)


def bodies_of(file: IO[bytes], rows: int, size: int) -> Iterator[list[bytes | None]]:
    """Yield the values of the messages in a container file, in its order.

    Args:
        rows, size: when these are enough to be yielded together; size in bytes.

    Raises:
        Refused: it is not sound, or its records are no messages.
    """
    values: list[bytes | None] = []
    held = 0
    try:
        records: Any = fastavro.reader(file)
        _refuse_other_records(records.writer_schema)
        for record in records:
            values.append(record[BODY])
            held += len(record[BODY] or b"")
            if len(values) == rows or held >= size:
                yield values
                values, held = [], 0
        if values:
            yield values
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - fastavro raises what its bytes lead it to
        said = str(error).strip(" .") or type(error).__name__
        raise Refused(
            f"is not a sound Avro container file: {said}. Deliver it again, whole."
        ) from None


def _refuse_other_records(schema: Any) -> None:
    is_record = isinstance(schema, dict) and schema.get("type") == "record"
    fields = {f["name"]: f["type"] for f in schema["fields"]} if is_record else {}
    kinds = fields.get(BODY, ())
    if not {*([kinds] if isinstance(kinds, str) else kinds)} <= {"bytes", "null"} or not kinds:
        found = ", ".join(fields) or "no record"
        raise Refused(
            f"has no messages: each record needs the field {BODY} with the bytes of one, as in "
            f"the captures of Event Hubs; found {found}."
        )
