"""Read bare Avro data of one record type, and say where bytes stop being a record."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from io import BytesIO
from typing import Any, cast

from fastavro import schemaless_reader

from udfs._avro_refused import Refused, keep, reason

# fastavro states all that a datum can be; of a schema of a record it is a record.
read_record = cast(Callable[..., dict[str, Any]], schemaless_reader)


def record_of(
    record: dict[str, Any], fields: Sequence[dict[str, Any]], named: dict[str, Any]
) -> dict[str, Any]:
    """Return the type of what is left of `record` with only some of its fields, for fastavro."""
    return {**record, "fields": fields, "__fastavro_parsed": True, "__named_schemas": named}


class Part:
    """Some fields of a record, and the bytes that they were read from."""

    def __init__(self, data: bytes, fields: dict[str, Any]) -> None:
        self.data, self._fields = data, fields
        self._made: Any = None

    def make(self, function: Callable[[dict[str, Any]], Any]) -> Any:
        """Return `function(fields)`, which is called again only if it raises."""
        if self._made is None:
            self._made = function(self._fields)
        return self._made


class RepeatedPart:
    """Reads fields that are the same in most records of a table. Bytes alone say where a value of
    a type ends and what it is, so where a record goes on with those of an earlier one, they are
    not read again."""

    _MOST_BYTES = 100_000

    def __init__(
        self, record: dict[str, Any], fields: Sequence[dict[str, Any]], named: dict[str, Any]
    ) -> None:
        self._record = record_of(record, fields, named)
        self._known: dict[Hashable, Part] = {}

    def read(self, stream: BytesIO, value: bytes, table: Hashable) -> Part:
        """Return the Part of `value` from where its `stream` stands, and leave it behind that.
        `table` is what the next record of the table will be known by."""
        start = stream.tell()
        known = self._known.get(table)
        if known and value.startswith(known.data, start):
            stream.seek(start + len(known.data))
            return known
        fields = read_record(stream, self._record, None)
        part = Part(value[start : stream.tell()], fields)
        if len(part.data) <= self._MOST_BYTES:
            keep(self._known, table, part)
        return part


class Reader:
    """Reads data of one record type. Named branches of unions come as (name, value)."""

    def __init__(
        self, record: dict[str, Any], fields: Sequence[dict[str, Any]], named: dict[str, Any]
    ) -> None:
        self.record = record_of(record, fields, named)

    def _fields(self, stream: BytesIO, _value: bytes) -> dict[str, Any]:
        return read_record(stream, self.record, None, return_named_type=True)

    def read(self, value: bytes, last: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
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

    def _where(self, value: bytes, last: dict[str, Any] | None) -> str:
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

    def _looks_like(self, value: bytes, last: dict[str, Any] | None) -> str:
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

    def __init__(
        self,
        record: dict[str, Any],
        fields: Sequence[dict[str, Any]],
        named: dict[str, Any],
        repeated: str,
        table: str,
    ) -> None:
        super().__init__(record, fields, named)
        at = [field["name"] for field in fields].index(repeated)
        self._before = record_of(record, fields[:at], named)
        self._part = RepeatedPart(record, fields[at : at + 1], named)
        self._behind = record_of(record, fields[at + 1 :], named)
        self._repeated, self._table = repeated, table

    def _fields(self, stream: BytesIO, value: bytes) -> dict[str, Any]:
        before = read_record(stream, self._before, None, return_named_type=True)
        part = self._part.read(stream, value, before.get(self._table))
        behind = read_record(stream, self._behind, None, return_named_type=True)
        return before | {self._repeated: part} | behind


def avro_reason(error: Exception) -> str:
    """Say why bytes could not be read."""
    if isinstance(error, EOFError):
        return "the bytes end inside it"
    if isinstance(error, IndexError):
        return "it has an index that no union or enum of the schema has"
    return reason(error)
