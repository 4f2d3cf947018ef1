"""The keys of an erasure: how they are given, and where a file holds one."""

import re

import pytest

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.erase.keys import _pattern, file_holds, read_key, read_keys


@pytest.mark.parametrize(
    "key, data, is_named",
    [
        ("5", b'{"id": 5, "n": 1', True),
        ("5", b'{"id": "55", "n": 1.50', False),
        ("a b", b'"\\ta b"', True),
        ("a-7", b"xa-7 a-77 a-7_", False),
        ("Zo\u00eb", '["Zo\u00eb"'.encode(), True),
        ("Zo\u00eb", b'["Zo\\u00EB"', True),
        ("a-7", b"a-7\xff", True),
        # Avro writes twice the length before a text: here a 0, and then what follows it.
        ("abcdefghijklmnopqrstuvwx", b"\x020abcdefghijklmnopqrstuvwxZ", True),
        ("a.b", b'"a-b"', False),
    ],
)
def test_a_key_is_found_in_bytes_that_nobody_can_read(key, data, is_named):
    assert bool(re.search(_pattern(key), data.decode("latin-1"))) is is_named


def test_keys_are_read_from_a_file_and_from_the_command_line(tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text('region,id\nEU,5\n"U,S",6\n')
    assert read_keys(path) == [{"region": "EU", "id": "5"}, {"region": "U,S", "id": "6"}]
    assert read_key(["id=5=5", "`a=b`=x"]) == {"id": "5=5", "a=b": "x"}
    for text, said in [("region,id\nEU\n", "line 2: 1 fields"), ("id\n", "names no key")]:
        path.write_text(text)
        with pytest.raises(LakehouseError, match=said):
            read_keys(path)
    for parts, said in [
        (["id"], "COLUMN=VALUE"),
        (["id=1", "id=2"], "twice"),
        (["id="], "no value"),
    ]:
        with pytest.raises(LakehouseError, match=said):
            read_key(parts)


def test_a_file_holds_a_key_if_it_holds_all_parts_of_it(tmp_path):
    path = tmp_path / "0.parquet"
    path.write_bytes(b'\x00{"region": "EU", "id": 5}\xff')
    assert file_holds(path, {("EU", "5")})
    assert not file_holds(path, {("EU", "6"), ("US", "5")})
