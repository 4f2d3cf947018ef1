"""The modules of udfs/ travel with the functions that they make, and are short."""

import importlib
import subprocess
import sys

import pytest
from conftest import PROJECT
from pyspark import cloudpickle

from cdc_lakehouse.runtime.functions import open_package

WORKER = """
import pickle, sys
try:
    import udfs
except ImportError:
    call, schemas, arguments = pickle.load(sys.stdin.buffer)
    print(call(*arguments, *schemas))
"""
JSON = b'{"sql": "truncate table a", "price": 1.50}'


@pytest.mark.parametrize(
    ("name", "function", "arguments", "found"),
    [
        ("dts_avro", "decode", (b"{}", None), "it looks like JSON text"),
        ("oceanbase_avro", "decode", (b"{}", None), "it looks like JSON text"),
        ("oceanbase_avro", "assemble", ([b"{}"], None), "value 1 of the 1 shards"),
        ("drs_avro", "decode", (b"{}", "avro/dts_avro.avsc"), "it looks like JSON text"),
        ("exact_json", "exact", (JSON, "price string, sql string", "sql"), "truncate_table"),
        ("connect_avro", "read", (b"{}", None, "op string"), "no registry header"),
        (
            "connect_json",
            "read",
            (JSON, "price string, sql string", "sql", b'{"a":1}'),
            "{'a': '1'}",
        ),
        ("ddl", "read", ("alter table a drop b",), "'column_name': 'b'"),
    ],
)
def test_a_worker_needs_neither_files_nor_modules(tmp_path, name, function, arguments, found):
    """Spark sends a function as bytes; the folder of the project is not where workers are."""
    open_package(PROJECT)
    module = importlib.import_module(f"udfs.{name}")
    schemas = [module.load_schemas(PROJECT)] if hasattr(module, "load_schemas") else []
    if hasattr(module, "shape_of"):
        arguments = [module.shape_of(a) if " string" in str(a) else a for a in arguments]
    sent = cloudpickle.dumps((getattr(module, function), schemas, arguments))
    # -I: neither the folder nor PYTHONPATH says where modules are.
    worker = [sys.executable, "-I", "-c", WORKER]
    done = subprocess.run(worker, input=sent, capture_output=True, cwd=tmp_path, check=False)
    assert done.stderr == b""
    assert found in done.stdout.decode()


def test_no_module_is_longer_than_300_lines():
    lengths = {path.name: len(path.read_text().splitlines()) for path in PROJECT.glob("udfs/*.py")}
    assert len(lengths) > 5
    assert {name: length for name, length in lengths.items() if length > 300} == {}
