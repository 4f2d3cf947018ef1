"""The functions of udfs/ run where neither its files nor its modules are, and are short."""

import ast
import importlib
import inspect
import io
import json
import re
import subprocess
import sys
from base64 import b64encode

import fastavro
import pyarrow as pa
import pyspark.sql.functions
import pytest
from conftest import LANDING, PROJECT
from connect_protobuf import header
from encoders import ENCODERS
from pyspark import cloudpickle

from cdc_lakehouse.package import PACKAGE
from cdc_lakehouse.runtime.functions import open_package

# Spark's worker on another machine, or beside a project that was made by `lakehouse init`.
WORKER = """
import pickle, sys
try:
    import udfs
except ImportError:
    answers = {}
    for name, (sent, arguments) in pickle.load(sys.stdin.buffer).items():
        try:
            answers[name] = pickle.loads(sent)(*arguments).to_pylist()
        except Exception as error:
            answers[name] = repr(error)
    sys.stdout.buffer.write(pickle.dumps(answers))
"""
KEY, CLAIMS = "LAKEHOUSE_HASH_KEY", "LAKEHOUSE_CLAIMS"
SECRET = "a key of the hash for tests, 32 and more"
MAP = pa.map_(pa.string(), pa.string())
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "op", "type": "string"},
        {
            "name": "after",
            "type": {
                "type": "record",
                "name": "Value",
                "fields": [
                    {"name": "id", "type": "long"},
                    {"name": "ratio", "type": "double"},
                    {
                        "name": "price",
                        "type": {
                            "type": "bytes",
                            "scale": 2,
                            "precision": 6,
                            "connect.name": "org.apache.kafka.connect.data.Decimal",
                        },
                    },
                ],
            },
        },
    ],
}


def avro_of(name):
    """Return the values that the fixtures of a format have in hexadecimal digits."""
    texts = [path.read_text() for path in sorted(PROJECT.glob(f"tests/fixtures/{name}/*.sql"))]
    values = re.findall(r"(?m)\\x((?:[0-9a-f]{2}){20,})$", "".join(texts))
    return [bytes.fromhex(value) for value in values]


def decoded(name, schema=None):
    values = avro_of(name)
    return pa.array(values, pa.binary()), pa.array([schema] * len(values), pa.string())


def json_lines():
    lines = [each for path in LANDING.glob("*/*.jsonl") for each in path.read_bytes().splitlines()]
    lines += [
        b'{"sql": "truncate table a", "price": 1.50}',
        b'{"a": 1, "a": 2}',
        b"[",
        b'{"a": -0}',
    ]
    shape, statement = "data array<map<string, string>>, price string, sql string", "sql"
    return (
        pa.array(lines, pa.binary()),
        pa.array([shape] * len(lines)),
        pa.array([statement] * len(lines)),
    )


def connect_avro():
    written = io.BytesIO(b"\0\0\0\0\1")
    written.seek(5)
    row = {"op": "c", "after": {"id": 7, "ratio": 0.1, "price": b"\x04\xd2"}}
    fastavro.schemaless_writer(written, fastavro.parse_schema(ENVELOPE), row)
    converter, envelope = ENCODERS["debezium_protobuf"].written[75]
    described = b64encode(converter.file(envelope).SerializeToString()).decode()
    values = [written.getvalue(), b"{}", header(75) + converter.message(envelope, {"op": "c"})]
    shape = "op string, after map<string, string>"
    schemas = [json.dumps(ENVELOPE), None, json.dumps({"protobuf": [described]})]
    given = [schemas, [shape] * 3, [""] * 3]
    keys = pa.array([None, b'{"id": 7}', None], pa.binary()), pa.array([None] * 3, pa.string())
    formats = pa.array(["debezium_avro", "debezium_protobuf", "debezium_protobuf"])
    return pa.array(values, pa.binary()), *map(pa.array, given), *keys, formats


def connect_json():
    fields = [{"field": "d", "type": "int32", "name": "io.debezium.time.Date"}]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
    message = {"schema": schema, "payload": {"op": "c", "after": {"d": 1}}}
    given = [
        [json.dumps(message).encode()],
        ["payload struct<op string, after map<string, string>>"],
    ]
    keys = pa.array([b'{"id": 7}'], pa.binary())
    return pa.array(given[0], pa.binary()), pa.array(given[1]), pa.array([""]), keys


def claimed_json():
    values = [b'{"at": {"file": "s3://bucket/a.json"}}', b'{"type": "INSERT"}']
    shape = "type string, price string"
    given = [[each] * 2 for each in (shape, "", "at.file", 1000)]
    return pa.array(values, pa.binary()), *map(pa.array, given)


def protected_images():
    rules = json.dumps(
        [["", "", "", "^email$", "hash", "silver"], ["", "", "", "m", "mask", "gold"]]
    )
    row = [("id", "1"), ("email", "ann@example.org"), ("name", "Ann")]
    types = [(name, "varchar") for name, _ in row]
    texts = [rules, "silver", None]
    images = [pa.array([each], MAP) for each in (None, row, types)]
    names = [pa.array([each], pa.list_(pa.string())) for each in (["crm", None, "people"], ["id"])]
    return *(pa.array([each], pa.string()) for each in texts), *names, *images


# Of each registered function: what it is called with, and what of it has to be in the answer.
CALLS = {
    "exact_json": (json_lines, "truncate_table"),
    "claimed_json": (claimed_json, '"price":"1.50"'),
    "connect_avro": (connect_avro, "data.Decimal(6,2)"),
    "connect_json": (connect_json, "1970-01-02"),
    "read_ddl": (lambda: [pa.array(["alter table a drop b", "truncate table t"])], "'b'"),
    "decode_dts_avro": (lambda: decoded("dts_avro"), "'UPDATE'"),
    "decode_oceanbase_avro": (lambda: decoded("oceanbase_avro"), "'INSERT'"),
    "assemble_oceanbase_avro": (
        lambda: (pa.array([avro_of("oceanbase_avro")[:1]]), pa.array([None], pa.string())),
        "shards",
    ),
    "oceanbase_shard": (lambda: decoded("oceanbase_avro"), "'total'"),
    "decode_drs_avro": (lambda: decoded("drs_avro", "avro/dts_avro.avsc"), "'INSERT'"),
    "protected_images": (protected_images, "'name', 'Ann'"),
    "pseudonym": (lambda: [pa.array(["ann@example.org", None])], "None"),
}


class Session:
    """What `register` sees of a session: it keeps the functions, by their names in SQL."""

    def __init__(self):
        self.udf, self.functions = self, {}

    def register(self, name, function):
        def united(*columns):
            return pa.concat_arrays(list(function([columns])))

        self.functions[name] = united if inspect.isgeneratorfunction(function) else function


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    """The functions of the package as a project without udfs/ has them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pyspark.sql.functions, "arrow_udf", lambda function, kind: function)
        session, project = Session(), tmp_path_factory.mktemp("project")
        patched.setenv(CLAIMS, "claims")
        (project / "claims").mkdir()
        message = b'{"type": "INSERT", "database": "shop", "table": "orders", "price": 1.50}'
        (project / "claims" / "a.json").write_bytes(message)
        (project / "seeds").mkdir()
        (project / "seeds" / "topics.csv").touch()
        (folder, _) = open_package(project)
        assert folder == PACKAGE / "udfs"
        for path in sorted(folder.glob("[!_]*.py")):
            importlib.import_module(f"udfs.{path.stem}").register(session, project)
        yield session.functions


def test_every_function_runs_without_files_and_modules(registered, tmp_path, monkeypatch):
    """Spark sends a function as bytes; no folder with udfs/ is where workers are.

    A registered function that CALLS does not have is a failure: give it a line there.
    """
    monkeypatch.setenv(KEY, SECRET)
    assert registered.keys() == CALLS.keys()
    arguments = {name: tuple(given()) for name, (given, _) in CALLS.items()}
    answers = {name: registered[name](*given).to_pylist() for name, given in arguments.items()}
    missing = [name for name, (_, found) in CALLS.items() if found not in str(answers[name])]
    assert missing == []
    # After the call: what a function has remembered by then is sent, too.
    calls = {n: (cloudpickle.dumps(registered[n]), given) for n, given in arguments.items()}
    assert not [name for name, (sent, _) in calls.items() if SECRET.encode() in sent]
    # -I: neither the folder nor PYTHONPATH says where modules are.
    worker = [sys.executable, "-I", "-c", WORKER]
    sent = cloudpickle.dumps(calls)
    done = subprocess.run(worker, input=sent, capture_output=True, cwd=tmp_path, check=False)
    assert done.stderr == b""
    said = cloudpickle.loads(done.stdout)
    assert {name: said[name] for name in said if repr(said[name]) != repr(answers[name])} == {}


def test_nothing_in_udfs_needs_its_module_where_it_runs():
    """functools' caches are pickled by reference, and so is what a function imports as it runs."""
    faults = []
    for path in sorted(PROJECT.glob("udfs/*.py")):
        tree = ast.parse(path.read_text())
        nodes = [(node, node in tree.body) for node in ast.walk(tree)]
        for node, is_global in nodes:
            names = [alias.name for alias in getattr(node, "names", []) if hasattr(alias, "name")]
            module = getattr(node, "module", None) or ""
            if module == "functools" or "functools" in names:
                faults.append(f"{path.name}:{node.lineno}: remembered() does what functools does")
            is_own = module.startswith("udfs") or any(n.startswith("udfs") for n in names)
            if isinstance(node, ast.Import | ast.ImportFrom) and is_own and not is_global:
                faults.append(f"{path.name}:{node.lineno}: import it at the top of the file")
    assert faults == []


def test_no_module_is_longer_than_300_lines():
    lengths = {path.name: len(path.read_text().splitlines()) for path in PROJECT.glob("udfs/*.py")}
    assert len(lengths) > 5
    assert {name: length for name, length in lengths.items() if length > 300} == {}
