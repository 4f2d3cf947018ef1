"""TiCDC's messages that name a file (claim check): the message in the file is read in their place.

What a message and a file hold is written by hand from TiCDC's source (pingcap/tiflow,
pkg/sink/codec/canal/canal_json_row_event_encoder.go, pkg/sink/codec/simple/encoder.go,
pkg/sink/kafka/claimcheck/claim_check.go).
"""

import importlib
import json
import os
from base64 import b64encode
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import PROJECT
from encoders.project import remove_gold
from shop import write_messages

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
claimed_json = importlib.import_module("udfs.claimed_json")
claims_of = importlib.import_module("udfs._claims")
shape_of = importlib.import_module("udfs._json_shapes").shape_of

FIELDS = (
    "type string, database string, table string, data array<map<string, string>>,"
    ' _tidb struct<commitTs string comment "a number">'
)
CLAIM, LIMIT = "_tidb.claimCheckLocation", 1000
NAME = "0f6a3b1e-6d55-4c0c-9f64-2d4e1c7a9b10.json"
ADDRESS = f"s3://claims/{NAME}"
MISSING = (
    "Let LAKEHOUSE_CLAIMS name the folder or s3:// address that has this file, where Spark is "
    "started, then run `lakehouse replay --reason missing_image`"
)


def canal(row, address=None, **members):
    """A message of Canal-JSON; the one that names a file has the key of its row alone."""
    extension = {"commitTs": 445644800000000001}
    if address is not None:
        extension["claimCheckLocation"] = address
    message = {"id": 0, "database": "shop", "table": "orders", "pkNames": ["id"], "isDdl": False}
    message |= {"type": "INSERT", "es": 1700000000000, "ts": 1700000000451, "sql": ""}
    message |= {"mysqlType": dict.fromkeys(row, "varchar"), "old": None, "data": [row]}
    return json.dumps(message | {"_tidb": extension} | members).encode()


def simple(row, address=None):
    """A message of the simple protocol."""
    message = {"version": 1, "database": "shop", "table": "orders", "tableID": 148}
    message |= {"type": "INSERT", "commitTs": 445644800000000001, "buildTs": 1700000000451}
    if address is not None:
        message |= {"claimCheckLocation": address, "handleKeyOnly": True}
    return json.dumps(message | {"data": row}).encode()


def boxed(value):
    """What TiCDC writes into a file by default: a key, which both protocols leave out, and it."""
    return json.dumps({"key": None, "value": b64encode(value).decode()}).encode()


ROW = {"id": "1", "status": "new"}
KEY = {"id": "1"}


@pytest.fixture
def claims(tmp_path):
    """The files of an empty folder."""
    (tmp_path / "claims").mkdir()
    return claims_of.Claims(str(tmp_path / "claims"), {})


def write(tmp_path, content, name=NAME):
    (tmp_path / "claims" / name).write_bytes(content)


def read(value, claims, limit=LIMIT):
    return claimed_json.read(value, shape_of(FIELDS), "", CLAIM, limit, claims)


def problem(value, claims, limit=LIMIT):
    text, code, detail, _ = read(value, claims, limit)
    assert text is None
    return code, detail


@pytest.mark.parametrize("address", [ADDRESS, f"s3:/claims/{NAME}", f"file:///claims/{NAME}", NAME])
@pytest.mark.parametrize("box", [boxed, bytes])
def test_the_message_in_the_file_is_read(tmp_path, claims, address, box):
    """Releases of TiCDC write two slashes, one, or none."""
    write(tmp_path, box(canal(ROW)))
    text, *problem, stated = read(canal(KEY, address), claims)
    assert (json.loads(text)["data"], problem, stated) == ([ROW], [None, None], None)


def test_a_message_that_names_no_file_is_as_it_was(claims):
    assert read(canal(ROW), claims) == (None, None, None, None)
    assert read(canal(ROW, ""), claims) == (None, None, None, None)
    assert read(None, claims) == (None, None, None, None)
    assert problem(b"[", claims)[0] == "not_json"


def test_no_digit_of_a_file_is_lost(tmp_path, claims):
    digits = "9" * 5000
    row = b'[{"a":1.50,"b":-0,"c":%s}]' % digits.encode()
    write(tmp_path, boxed(canal({}).replace(b"[{}]", row)))
    text, *_ = read(canal(KEY, ADDRESS), claims, 10_000)
    assert json.loads(text)["data"] == [{"a": "1.50", "b": "-0", "c": digits}]


@pytest.mark.parametrize("place", ["", "claims"])
def test_a_file_that_is_not_there_is_named_with_what_to_do(tmp_path, claims, place):
    if not place:
        claims = claims_of.Claims("", {})
    assert problem(canal(KEY, ADDRESS), claims) == (
        "missing_image",
        f"the row is not in the message but in {ADDRESS}. {MISSING}",
    )


@pytest.mark.parametrize(
    "address",
    [
        "../secret.json",
        "file:///{folder}/secret.json",
        "s3://claims/..",
        "s3://claims/../secret.json",
        "..\\secret.json",
        "%2e%2e%2fsecret.json",
        "s3://claims/.hidden",
        "s3://claims/",
        "s3://claims/inner",
        "s3://claims/\0",
        f"s3://claims/{'a' * 300}.json",
        "x" * 10_000,
    ],
)
def test_no_message_names_a_file_outside_the_place(tmp_path, claims, address):
    (tmp_path / "secret.json").write_bytes(canal(ROW))
    (tmp_path / "claims" / "inner").mkdir()
    write(tmp_path, canal(ROW), ".hidden")
    code, detail = problem(canal(KEY, address.format(folder=tmp_path)), claims)
    assert code == "missing_image" and detail.endswith(MISSING)


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", "empty_value", "the value has no bytes"),
        (boxed(b""), "empty_value", "the value has no bytes"),
        # large-message-handle-compression: a frame of LZ4, a block of snappy.
        (b"\x04\x22\x4d\x18\x64\x40\xa7", "not_utf8", "no UTF-8: byte 0xa7 at offset 6 of 7"),
        (boxed(b"\x80\x01\x10{"), "not_utf8", "no UTF-8: byte 0x80 at offset 0 of 4"),
        (b'{"key":null,"value":"eyJ', "not_json", "the text ends too early"),
        (b'{"key":null,"value":"no"}', "wrong_type", "field value: expected Base64, found a text"),
        (b'{"key":null,"value":null}', "wrong_type", "field value: expected Base64, found null"),
        (b"[]", "not_json", "one JSON object expected"),
        (b'{"hello":1}', "missing_image", "a message without type"),
        (canal(ROW, table="lines"), "missing_image", "a message with table 'lines', where"),
        (canal(ROW, ADDRESS), "missing_image", "a message that names another file, s3://claims/"),
        (canal(ROW, _tidb=5), "wrong_type", "field _tidb: expected an object, found a number"),
    ],
)
def test_a_file_that_holds_no_such_message_is_named(tmp_path, claims, content, code, said):
    write(tmp_path, content)
    found, detail = problem(canal(KEY, ADDRESS), claims)
    assert found == code and detail.startswith(f"in the file {NAME}: {said}")


def test_an_address_that_is_no_text_is_refused(claims):
    assert problem(canal(KEY, 5), claims) == (
        "wrong_type",
        f"field {CLAIM}: expected a text, found a number",
    )


def test_a_file_is_as_long_as_a_message_at_most(tmp_path, claims):
    write(tmp_path, canal(ROW))
    length = len(canal(ROW))
    assert read(canal(KEY, ADDRESS), claims, length)[1] is None
    assert problem(canal(KEY, ADDRESS), claims, length - 1) == (
        "too_large",
        f"the file {NAME} has {length} bytes, more than max_message_bytes of dbt_project.yml, "
        f"{length - 1}",
    )


def test_a_place_that_is_not_there_is_no_missing_file(tmp_path):
    (tmp_path / "file").touch()
    for name in ("nothing", "file"):
        place = tmp_path / name
        with pytest.raises(claims_of.Unreadable, match=f"there is no folder {place}"):
            read(canal(KEY, ADDRESS), claims_of.Claims(str(place), {}))
        assert read(canal(ROW), claims_of.Claims(str(place), {}))[1] is None


def test_files_are_read_in_parts(tmp_path, claims, monkeypatch):
    """All files of a batch, which may have thousands, would not fit in memory."""
    write(tmp_path, canal(ROW))
    monkeypatch.setattr(claimed_json, "PART", 2 * len(canal(ROW)))
    values = [canal(KEY, ADDRESS), canal(ROW), canal(KEY, ADDRESS), canal(ROW), None]
    given = [[each] * 5 for each in (FIELDS, "", CLAIM, LIMIT)]
    columns = [pa.array(values, pa.binary()), *map(pa.array, given)]
    parts = list(claimed_json.in_parts(columns, claims))
    assert [len(part) for part in parts] == [3, 2]
    assert {part.type for part in parts} == {claimed_json.to_arrow([]).type}
    assert [row["problem"] for part in parts for row in part.to_pylist()] == [None] * 5
    monkeypatch.setattr(claimed_json, "PART", 1 << 20)
    assert [len(part) for part in claimed_json.in_parts(columns, claims)] == [5]


@pytest.mark.parametrize(
    ("environment", "place", "access"),
    [
        ({}, "", {}),
        ({"LAKEHOUSE_CLAIMS": " "}, "", {}),
        ({"LAKEHOUSE_CLAIMS": "claims"}, "/project/claims", {}),
        ({"LAKEHOUSE_CLAIMS": "/mnt/claims"}, "/mnt/claims", {}),
        ({"LAKEHOUSE_CLAIMS": "s3://claims"}, "s3://claims", {}),
        (
            {"LAKEHOUSE_CLAIMS": "s3a://claims/a/b/", "AWS_REGION": "eu-central-1"},
            "s3://claims/a/b",
            {"region": "eu-central-1"},
        ),
        (
            {
                "LAKEHOUSE_CLAIMS": "s3://claims/a",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": "http://minio:9000/",
                "AWS_SECRET_ACCESS_KEY": "secret",
            },
            "s3://claims/a",
            {"region": "us-east-1", "scheme": "http", "endpoint_override": "minio:9000"},
        ),
    ],
)
def test_the_environment_names_the_place(environment, place, access):
    assert claims_of.place_of(environment, Path("/project")) == (place, access)


@pytest.mark.parametrize(
    "said",
    ["gs://claims", "file:///claims", "s3://", "s3://k:secret@claims/a", "s3://c?key=secret"],
)
def test_what_is_no_place_is_refused_and_not_shown(said):
    with pytest.raises(ValueError, match="LAKEHOUSE_CLAIMS is an address, but not like") as error:
        claims_of.place_of({"LAKEHOUSE_CLAIMS": said}, Path("/project"))
    assert "secret" not in str(error.value)


# --- The models, with what a person does ------------------------------------------------------

CANAL, SIMPLE = "ticdc.claims", "ticdc.simple_claims"
LONG = 9 << 20  # with two of them a part is full
RESULTS = """
    select topic, offset, kind, operation, after, after_is_complete, reject_reason, reject_detail
    from silver.events where topic like 'ticdc.%claims' order by topic, offset
"""


def add_routes(project):
    topics = project / "seeds" / "topics.csv"
    lines = f"{CANAL},tidb_canal,,,,\n{SIMPLE},ticdc_simple,,,,\n"
    topics.write_text(topics.read_text() + lines)
    remove_gold(project)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("claims") / "files"


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse, folder):
    """A lakehouse in a process that was started with LAKEHOUSE_CLAIMS."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LAKEHOUSE_CLAIMS", str(folder))
        lakehouse = open_lakehouse("claims", change=add_routes, own=True)
    lakehouse.dbt("seed")
    return lakehouse


def arrive(lakehouse, folder, topic, offset, *values):
    path = folder.parent / "landing" / f"{topic}-{offset}.parquet"
    rows = [(topic, 0, offset + number, value) for number, value in enumerate(values)]
    write_messages(path, rows)
    lakehouse.ingest(path.parent)


@pytest.mark.full
def test_files_are_followed_and_what_is_missing_can_be_replayed(lakehouse, folder):
    folder.mkdir()
    for name in ("long-1", "long-2"):
        row = {"id": name, "note": "x" * LONG}
        (folder / f"{name}.json").write_bytes(canal(row))
    (folder / "boxed.json").write_bytes(boxed(canal({"id": "3", "note": "é"})))
    (folder / "simple.json").write_bytes(simple({"id": "1", "note": "whole"}))
    named = ["long-1", "long-2", "boxed", "late"]
    values = [canal({"id": name}, f"s3://claims/{name}.json") for name in named]
    arrive(lakehouse, folder, CANAL, 0, *values, canal({"id": "5", "note": "short"}))
    arrive(lakehouse, folder, SIMPLE, 0, simple({"id": "1"}, "file:///claims/simple.json"))
    lakehouse.dbt("run", "-s", "events")

    *found, of_simple = lakehouse.query(RESULTS)
    images = [row["after"] for row in (*found, of_simple) if row["kind"] == "row_change"]
    assert [image["id"] for image in images] == ["long-1", "long-2", "3", "5", "1"]
    assert [len(image["note"]) for image in images] == [LONG, LONG, 1, 5, 5]
    assert of_simple["after_is_complete"] and found[2]["after_is_complete"]
    assert (found[3]["kind"], found[3]["reject_reason"]) == ("rejected", "missing_image")
    assert found[3]["reject_detail"].endswith(MISSING)

    (folder / "late.json").write_bytes(canal({"id": "late", "note": "there"}))
    assert lakehouse.command("replay", "--reason", "missing_image")[0] == 0
    lakehouse.dbt("run", "-s", "events")
    found = lakehouse.query(RESULTS)[3]
    assert (found["kind"], found["operation"]) == ("row_change", "insert")
    assert found["after"] == {"id": "late", "note": "there"}


@pytest.mark.full
def test_a_place_that_is_away_ends_the_run_and_loses_nothing(lakehouse, folder):
    folder.mkdir(exist_ok=True)
    (folder / "after.json").write_bytes(canal({"id": "6", "note": "after"}))
    away = folder.with_name("away")
    os.rename(folder, away)
    arrive(lakehouse, folder, CANAL, 10, canal({"id": "6"}, "s3://claims/after.json"))
    (said,) = lakehouse.dbt("run", "-s", "events", fails=True)
    assert f"LAKEHOUSE_CLAIMS names {folder}, where after.json cannot be read" in said
    assert "the next run begins where this did" in said
    assert "Traceback" not in said
    os.rename(away, folder)
    lakehouse.dbt("run", "-s", "events")
    found = [row for row in lakehouse.query(RESULTS) if row["offset"] == 10]
    assert [row["after"] for row in found] == [{"id": "6", "note": "after"}]
