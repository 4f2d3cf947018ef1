"""Schemas come from a registry, once; what a registry does not do is said, and loses nothing."""

import json
import threading
from base64 import b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from broker import Broker
from commands import Commands
from encoders.debezium_avro import DebeziumAvro
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from history import History
from registry import SchemaRegistry
from shop import Keyed

from cdc_lakehouse.engine import registry
from cdc_lakehouse.engine.registry import AUTH, MOST_UNKNOWN, Registry, fetch, names_registry
from cdc_lakehouse.errors import LakehouseError

pytestmark = pytest.mark.full

KEY = '{"type":"record","name":"Key","fields":[{"name":"id","type":"int"}]}'
NOTHING = (404, {"error_code": 40403, "message": "Schema not found"})


@contextmanager
def answering(answers):
    """A server that gives {path: (status, JSON or bytes), or a list of them in turn}.

    Yields its address and the headers of all requests.
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers))
            found = answers.get(self.path, NOTHING)
            status, body = found.pop(0) if isinstance(found, list) else found
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(registry, "PAUSE", 0)
    monkeypatch.delenv(AUTH, raising=False)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("http://registry:8081", True),
        ("avro/old_registry", True),
        ("avro/orders.avsc", False),
        ("", False),
    ],
)
def test_what_names_a_registry(text, names):
    assert names_registry(text) == names


def test_a_schema_is_found_by_its_id():
    with answering({"/apis/schemas/ids/7": (200, {"schema": KEY})}) as (address, _):
        assert Registry(f"{address}/apis/").schema(7) == KEY
        assert Registry(f"{address}/apis").schema(8) is None


def test_what_a_schema_refers_to_comes_before_it():
    order = '{"type":"record","name":"Order","fields":[{"name":"key","type":"Key"}]}'
    line = '{"type":"record","name":"Line","fields":[{"name":"order","type":"Order"}]}'
    to_key = [{"name": "Key", "subject": "a/key", "version": 2}]
    both = [*to_key, {"name": "Order", "subject": "order", "version": 1}]
    answers = {
        "/schemas/ids/3": (200, {"schema": line, "references": both}),
        "/subjects/order/versions/1": (200, {"schema": order, "references": to_key}),
        "/subjects/a%2Fkey/versions/2": (200, {"schema": KEY, "references": []}),
    }
    with answering(answers) as (address, _):
        assert json.loads(Registry(address).schema(3)) == [
            json.loads(text) for text in (KEY, order, line)
        ]


def test_a_user_is_sent_and_stands_in_no_file(monkeypatch):
    monkeypatch.setenv(AUTH, "reader:s3cret")
    with answering({"/schemas/ids/1": (200, {"schema": KEY})}) as (address, requests):
        assert Registry(address).schema(1) == KEY
    ((_, headers),) = requests
    assert headers["Authorization"] == f"Basic {b64encode(b'reader:s3cret').decode()}"
    with pytest.raises(LakehouseError, match=AUTH) as error:
        Registry("https://reader:s3cret@registry.example")
    assert "s3cret" not in str(error.value)


def test_a_registry_may_stumble():
    busy = (503, b"busy")
    with answering({"/schemas/ids/1": [busy, busy, (200, {"schema": KEY})]}) as (address, _):
        assert Registry(address).schema(1) == KEY


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((401, {"error_code": 401, "message": "Unauthorized"}), AUTH),
        ((403, b"no"), AUTH),
        ((404, b"<html>nothing here</html>"), "address of a schema registry"),
        ((404, {"error_code": 404, "message": "no such path"}), "address of a schema registry"),
        ((200, b"<html>welcome</html>"), "no JSON"),
        ((503, b"busy"), "503"),
    ],
)
def test_what_is_no_answer_is_no_unknown_schema(answer, says):
    with answering({"/schemas/ids/1": answer}) as (address, _):
        with pytest.raises(LakehouseError, match=says) as error:
            Registry(address).schema(1)
        assert address in str(error.value) and "Nothing was processed" in str(error.value)


def test_a_registry_that_is_away_is_named():
    with answering({}) as (address, _):
        pass
    with pytest.raises(LakehouseError, match="Connection refused"):
        Registry(address).schema(1)


def test_bytes_that_are_no_ids_are_not_asked_for_without_end():
    with answering({"/schemas/ids/5": (200, {"schema": KEY})}) as (address, requests):
        found = list(fetch(address, list(range(1000)), Path()))
    assert found == [(5, KEY)]
    assert len(requests) == MOST_UNKNOWN + 1


def test_a_folder_has_a_file_for_each_id(tmp_path):
    (tmp_path / "avro").mkdir()
    (tmp_path / "avro" / "7.avsc").write_text(KEY)
    assert list(fetch("avro", [6, 7], tmp_path)) == [(7, KEY)]
    with pytest.raises(LakehouseError, match="no such folder"):
        list(fetch("avro/lost", [7], tmp_path))


def test_a_schema_of_protobuf_is_kept_as_descriptors(tmp_path):
    """With what it imports before it, under the names by which it does."""
    money = FileDescriptorProto(name="default", package="shop")
    order = FileDescriptorProto(name="default", package="shop", dependency=["shop/money.proto"])
    order.message_type.add(name="Order")
    reference = {"name": "shop/money.proto", "subject": "money", "version": 1}
    answers = {
        "/schemas/ids/3": (
            200,
            {"schema": "a text", "schemaType": "PROTOBUF"} | {"references": [reference]},
        ),
        "/schemas/ids/3?format=serialized": (200, {"schema": as_base64(order)}),
        "/subjects/money/versions/1": (200, {"id": 2, "schema": "a text"}),
        "/schemas/ids/2?format=serialized": (200, {"schema": as_base64(money)}),
    }
    with answering(answers) as (address, _):
        kept = json.loads(Registry(address).schema(3))
    order.name, money.name = "3.proto", "shop/money.proto"
    assert kept == {"protobuf": [as_base64(money), as_base64(order)]}

    (tmp_path / "avro").mkdir()
    described = tmp_path / "avro" / "3.desc"
    described.write_bytes(FileDescriptorSet(file=[money, order]).SerializeToString())
    assert list(fetch("avro", [3], tmp_path)) == [(3, json.dumps(kept))]
    described.write_bytes(b"message Order {}")
    with pytest.raises(LakehouseError, match="protoc --include_imports"):
        list(fetch("avro", [3], tmp_path))


def as_base64(file):
    return b64encode(file.SerializeToString()).decode()


@pytest.mark.parametrize("text", ['syntax = "proto3";', "c3ludGF4", "\n\x07ünreadable"])
def test_a_registry_that_gives_no_descriptors_has_no_schema_of_protobuf(text):
    """Apicurio gives the text, or from 3.1.1 on bytes that are no text."""
    found = {"schema": text, "schemaType": "PROTOBUF"}
    paths = ("/schemas/ids/1", "/schemas/ids/1?format=serialized")
    with answering({path: (200, found) for path in paths}) as (address, _):
        assert Registry(address).schema(1) is None
    failing = (400, {"error_code": 400, "message": "Invalid format"})
    with (
        answering({paths[0]: (200, found), paths[1]: failing}) as (address, _),
        pytest.raises(LakehouseError, match=r"name a folder with <id>\.desc in its place"),
    ):
        Registry(address).schema(1)


# ---------------------------------------------------------------------------- the real ones

TOPICS = "topic,format,time_zone,avro_schema,delete_image,database\ndbz.*,debezium_avro,,{},,\n"


class Feed:
    """A topic of Debezium's messages on a broker, with the lakehouse that reads it."""

    def __init__(self, home):
        self.broker, self.registry = Broker(home), SchemaRegistry(home)
        self.commands = Commands(home)
        address = self.registry.address
        (self.commands.project / "seeds" / "topics.csv").write_text(TOPICS.format(address))
        self.broker.make_topic("dbz.shop")
        self.encoder = DebeziumAvro(lambda name, schema, _: self.registry.register(name, schema))
        self.sent = 0

    def send(self, *messages):
        """Send messages, each with the key that it has."""
        producer = self.broker.producer()
        for value in messages:
            key = value.key if isinstance(value, Keyed) else None
            producer.produce("dbz.shop", value=value and bytes(value), key=key, partition=0)
        producer.flush()
        self.sent += len(messages)

    def run(self, code=0):
        source = ("kafka", "--bootstrap-servers", self.broker.plain, "--subscribe", "dbz.shop")
        return self.commands.lakehouse("run", *source, code=code)

    def kinds(self):
        """Return {kind: number} of all messages."""
        said = self.commands.lakehouse(
            "query", "select kind, count(*) from silver.events group by kind", "--csv"
        )
        return {kind: int(n) for kind, n in (line.split(",") for line in said.split()[1:])}

    def stop(self):
        self.registry.stop()
        self.broker.stop()


@pytest.mark.long
def test_a_real_registry_gives_the_text_of_protobuf_alone(tmp_path):
    registered = SchemaRegistry(tmp_path)
    try:
        text = 'syntax = "proto3"; message Order { int32 id = 1; }'
        number = registered.register("orders", text, "PROTOBUF")
        assert Registry(registered.address).schema(number) is None
    finally:
        registered.stop()


@pytest.mark.long
def test_debezium_comes_from_kafka_and_its_schemas_from_a_registry(tmp_path):
    feed = Feed(tmp_path)
    try:
        _read_a_feed(feed)
    finally:
        feed.stop()


def _read_a_feed(feed):
    encoded = [e for event in History(350423, 60).events for e in feed.encoder.encode(event)]
    values, expected = [value for value, _ in encoded], {}
    for _, kind in encoded:
        expected[kind] = expected.get(kind, 0) + 1
    feed.send(*values)
    feed.run()
    assert feed.kinds() == expected

    # A schema that the registry gets later: its message is rejected, and read again.
    later = b"\0" + (max(feed.encoder.ids.values()) + 1).to_bytes(4, "big") + b"\x02"
    feed.send(later)
    feed.run()
    assert feed.kinds() == expected | {"rejected": 1}
    heartbeat = {"type": "record", "name": "Later", "fields": [{"name": "ts_ms", "type": "long"}]}
    assert feed.registry.register("later", heartbeat) == int.from_bytes(later[1:5], "big")
    feed.commands.lakehouse("replay", "--reason", "unknown_schema")
    expected["heartbeat"] = expected.get("heartbeat", 0) + 1
    feed.run()
    assert feed.kinds() == expected

    # Without its registry a run reads what it knows, and refuses what it does not.
    feed.registry.stop()
    feed.send(later)
    feed.run()
    expected["heartbeat"] += 1
    assert feed.kinds() == expected
    feed.send(b"\0\0\0\x7f\x01\x02")
    said = feed.run(code=1)
    assert feed.registry.address in said and "Nothing was processed" in said
    assert feed.kinds() == expected
