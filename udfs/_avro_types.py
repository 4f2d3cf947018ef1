"""The types of an .avsc: which record its values are, and whether hostile bytes can abuse it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fastavro import parse_schema

# As fastavro parses it: a name, the branches of a union, or a definition.
AvroType = str | list[Any] | dict[str, Any]


class _Strict(list[Any]):
    """Symbols of an enum or branches of a union. A list takes index -1 for its last item, and so
    does fastavro with an index that it reads from broken bytes."""

    def __len__(self) -> int:
        return 0  # compiled fastavro adds the length to a negative index before it asks

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            raise IndexError(f"index {index} of a union or enum")
        return list.__getitem__(self, index)


def _without_conversions(schema: dict[str, Any]) -> dict[str, Any]:
    # fastavro would turn numbers into dates, which we have to spell ourselves, and refuses the
    # defaults of some published schemas. None is needed to read what was written.
    schema.pop("logicalType", None)
    schema.pop("default", None)
    return schema


class Types:
    """The types of an .avsc. Raises if the file is no schema, or one that hostile bytes can abuse.

    Types are compared as kinds: "int", "string", "record", "array", ... and "string_map".
    """

    def __init__(self, text: str) -> None:
        self.named: dict[str, dict[str, Any]] = {}
        plain = json.loads(text, object_hook=_without_conversions)
        # Expanded, because fastavro looks names up again for every value.
        parsed = parse_schema(plain, named_schemas=self.named, expand=True)
        self._roots = parsed if isinstance(parsed, list) else [parsed]
        for root in self._roots:
            self._least_bytes(root, ())

    def records_in(self, avro_type: AvroType) -> Iterator[dict[str, Any]]:
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

    def find_record(
        self, needed: Mapping[str, str], optional: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the record with the needed fields, and what is optional of those types; the
        ValueError names what the closest record lacks."""
        optional = optional or {}
        records = [record for root in self._roots for record in self.records_in(root)]
        for record in reversed(records):  # the file's last type is the outermost one
            if not self._lacking(record, needed, optional):
                return record
        closest = min(records, key=lambda r: len(self._lacking(r, needed, optional)), default=None)
        if closest is None:
            raise ValueError("it holds no record")
        raise ValueError(f"{closest['name']} lacks {self._lacking(closest, needed, optional)}")

    def require(self, avro_type: AvroType, needed: Mapping[str, str]) -> None:
        """Raise ValueError unless the records in `avro_type` have the needed fields."""
        for record in self.records_in(avro_type):
            if lacking := self._lacking(record, needed, {}):
                raise ValueError(f"{record['name']} lacks {lacking}")

    def _lacking(
        self, record: dict[str, Any], needed: Mapping[str, str], optional: Mapping[str, str]
    ) -> str:
        """Name the fields that are missing or of another type, "" if there are none."""
        found = {field["name"]: self._kinds(field["type"]) for field in record["fields"]}
        checked = {**needed, **{name: kinds for name, kinds in optional.items() if name in found}}
        return ", ".join(
            f"{name} ({kinds.replace(' ', ' or ')})"
            for name, kinds in checked.items()
            if not found.get(name, set()) - {"null"}
            or not found[name] - {"null"} <= set(kinds.split())
        )

    def _kinds(self, avro_type: AvroType) -> set[str]:
        if isinstance(avro_type, list):
            return {kind for branch in avro_type for kind in self._kinds(branch)}
        if isinstance(avro_type, dict):
            is_string_map = avro_type["type"] == "map" and avro_type["values"] == "string"
            return {"string_map" if is_string_map else avro_type["type"]}
        return {self.named[avro_type]["type"] if avro_type in self.named else avro_type}

    def _least_bytes(self, avro_type: AvroType, inside: tuple[str, ...]) -> int:
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
            size: int = avro_type["size"]
            return size
        elif kind == "map":
            self._least_bytes_held(avro_type, "values", inside)
        elif kind == "array" and not self._least_bytes_held(avro_type, "items", inside):
            raise ValueError("it holds an array of items that have no bytes")
        elif kind not in ("array", "enum"):
            return self._least_bytes(kind, inside)
        return 1

    def _least_bytes_held(self, holder: dict[str, Any], key: str, inside: tuple[str, ...]) -> int:
        if not isinstance(holder[key], list):
            return self._least_bytes(holder[key], inside)
        holder[key] = _Strict(holder[key])
        for branch in holder[key]:
            self._least_bytes(branch, inside)
        return 1
