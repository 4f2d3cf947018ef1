"""Take the message out of a CloudEvent whose envelope is JSON (structured mode).

In binary mode the value is the message already, and the attributes are headers.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from udfs._json_reading import read_quickly
from udfs._json_values import Refused, Repeating, kind_of

# Debezium's converter makes attributes of what stands beside the images: this, and the member's
# name without its underscores.
PREFIX = "iodebezium"
_OF_SOURCE = (
    *("version", "connector", "name", "ts_ms", "ts_us", "ts_ns", "snapshot", "db", "schema"),
    *("table", "keyspace", "collection", "ord", "txId", "gtid", "server_id", "file", "pos", "row"),
    *("lsn", "xmin", "sequence", "scn", "commit_scn", "txSeq", "commit_lsn", "change_lsn"),
    *("event_serial_no", "commit_ts", "commit_time", "lsid", "txnNumber"),
)
_OF_TRANSACTION = ["id", "total_order", "data_collection_order"]
_MEMBERS = {
    PREFIX + "op": ("op",),
    **{PREFIX + name.replace("_", ""): ("source", name) for name in _OF_SOURCE},
    **{PREFIX + "tx" + name.replace("_", ""): ("transaction", name) for name in _OF_TRANSACTION},
}


def message_of(found: Any) -> Any:
    """Return the message in a CloudEvent, a document of JSON; any other as it is.

    Raises:
        Refused: its data is no JSON.
    """
    if type(found) is not dict or type(found.get("specversion")) is not str:
        return found
    if "data_base64" in found:
        data = _decoded(found["data_base64"])
    elif "data" in found:
        data = found["data"]
    else:
        return found
    kind = found.get("datacontenttype")
    if not isinstance(data, dict):
        of_kind = f" of {kind}" if isinstance(kind, str) else ""
        refused = Refused(
            "wrong_type",
            f"a CloudEvent whose data is {kind_of(data)}{of_kind}; let the producer write data as "
            "JSON (with Debezium: value.converter.data.serializer.type=json)",
        )
        refused.path = ["data"]
        raise refused
    if PREFIX + "op" not in found or Repeating in (type(data), type(data.get("payload"))):
        return data  # names that come twice are refused
    return _debezium_message(found, data)


def _decoded(text: Any) -> Any:
    try:
        return read_quickly(b64decode(text, validate=True))
    except (TypeError, ValueError):
        return None


def _debezium_message(event: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the message of which Debezium's converter has made an event."""
    stands_beside = data.keys() == {"schema", "payload"} and isinstance(data["payload"], dict)
    message: dict[str, Any] = dict(data["payload"] if stands_beside else data)
    for attribute, value in event.items():
        member = _MEMBERS.get(attribute)
        if member is None or value is None:
            continue
        place = message
        for name in member[:-1]:
            place = place.setdefault(name, {})
        place[member[-1]] = value
    return {"schema": data["schema"], "payload": message} if stands_beside else message
