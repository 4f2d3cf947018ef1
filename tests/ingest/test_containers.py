"""Captures of Event Hubs: Avro containers whose records have the bytes of a message in `Body`."""

import gzip

import fastavro
import pyarrow.parquet as pq
import pytest

from cdc_lakehouse.ingest.columns import Refused
from cdc_lakehouse.ingest.files import describe, stage

# As Azure documents it: https://learn.microsoft.com/azure/event-hubs/event-hubs-capture-overview
CAPTURE = {
    "type": "record",
    "name": "EventData",
    "namespace": "Microsoft.ServiceBus.Messaging",
    "fields": [
        {"name": "SequenceNumber", "type": "long"},
        {"name": "Offset", "type": "string"},
        {"name": "EnqueuedTimeUtc", "type": "string"},
        {"name": "SystemProperties", "type": {"type": "map", "values": ["long", "string"]}},
        {"name": "Properties", "type": {"type": "map", "values": ["long", "string", "null"]}},
        {"name": "Body", "type": ["null", "bytes"]},
    ],
}


def write(path, bodies, schema=CAPTURE, codec="deflate"):
    records = [
        {
            "SequenceNumber": number,
            "Offset": str(number * 100),
            "EnqueuedTimeUtc": "8/20/2018 7:00:00 AM",
            "SystemProperties": {},
            "Properties": {"key": "value"},
            "Body": body,
        }
        for number, body in enumerate(bodies)
    ]
    with open(path, "wb") as file:
        fastavro.writer(file, schema, records, codec=codec)
    return path


def staged(path, folder):
    file = describe(str(path))
    file.topic, file.partition = "shop.orders", 4
    stage(file, folder)
    return pq.read_table(folder / file.staged).to_pylist()


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_capture_is_landed_message_by_message(tmp_path, codec):
    bodies = [b'{"id":1}', None, b"\x00\xff", b""]
    rows = staged(write(tmp_path / "17.avro", bodies, codec=codec), tmp_path)
    assert [row["value"] for row in rows] == bodies
    assert [(row["topic"], row["partition"], row["offset"]) for row in rows] == [
        ("shop.orders", 4, number) for number in range(4)
    ]


def test_many_messages_come_in_their_order(tmp_path):
    bodies = [b"%d" % number for number in range(40_000)]
    rows = staged(write(tmp_path / "many.avro", bodies), tmp_path)
    assert [row["value"] for row in rows] == bodies
    assert [row["offset"] for row in rows] == list(range(40_000))


def test_a_container_of_other_records_is_refused_by_name(tmp_path):
    schema = {"type": "record", "name": "orders", "fields": [{"name": "id", "type": "long"}]}
    with open(tmp_path / "rows.avro", "wb") as file:
        fastavro.writer(file, schema, [{"id": 1}])
    with pytest.raises(Refused, match=r"each record needs the field Body .*; found id[.]$"):
        staged(tmp_path / "rows.avro", tmp_path)
    with open(tmp_path / "texts.avro", "wb") as file:
        fastavro.writer(file, {"type": "string"}, ["a"])
    with pytest.raises(Refused, match="found no record"):
        staged(tmp_path / "texts.avro", tmp_path)


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-20], lambda raw: raw[:100], gzip.compress])
def test_a_container_that_is_not_sound_leaves_nothing(tmp_path, spoil):
    path = write(tmp_path / "torn.avro", [b"a" * 50, b"b" * 50], codec="null")
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(Refused, match=r"is not a sound Avro container file: .*again, whole[.]$"):
        staged(path, tmp_path)
    assert list(tmp_path.glob("*.parquet")) == []


def test_an_empty_file_is_no_container(tmp_path):
    (tmp_path / "empty.avro").write_bytes(b"")
    with pytest.raises(Refused, match="is not a sound Avro container file"):
        staged(tmp_path / "empty.avro", tmp_path)
