"""Broken messages of every format: no run fails, no message is lost, no neighbour is touched.

What becomes of a broken message is checked against readers of its own (encoders/oracle.py): it is
rejected, or it is a change that says what the bytes say.

HOSTILE_SEED and HOSTILE_MESSAGES (broken messages per format) choose the messages.
"""

import json
import os
import random
import re
from collections import Counter
from dataclasses import astuple
from io import BytesIO

import pytest
from conftest import SAID
from encoders import ENCODERS
from encoders.base import as_single
from encoders.oracle import AVRO, Refused, check_bytes, is_the_same, rows_of
from encoders.project import add_routes
from fastavro import schemaless_reader, schemaless_writer
from history import EVERYTHING, TWO_KEYS, History
from shop import write_messages

pytestmark = pytest.mark.full

SEED = int(os.environ["HOSTILE_SEED"])
COUNT = int(os.environ.get("HOSTILE_MESSAGES") or 100)
REASONS = {
    *("empty_value", "not_utf8", "not_json", "not_avro", "not_protobuf", "not_text"),
    *("wrong_type", "duplicate_keys", "unknown_operation", "unknown_charset", "unknown_schema"),
    *("missing_table", "missing_database", "missing_image", "missing_ddl"),
}
NUMBERS = (b"9" * 400, b"-1", b"1e999", b"-0", b"1.50", b"0x1F", b"01", b"NaN", b"1e-400")
NUMBERS += (b"99999999999999999999", b"253402300800000", b"9223372036854775807", b"1" + b"0" * 40)
VALUES = (b"null", b"true", b'""', b"{}", b"[]", b"[null]", b"[{}]", b'"x"', b"5", b'[["x"]]')
VALUES += (b'{"a": [1, 1.50, -0, {"b": 1E+2}]}', b"[-0.10, 1e400]", b'{"a":1.0,"a":1.0}')
BOM = b"\xef\xbb\xbf"
KEY = re.compile(rb'"[^"\\]*"\s*:')
NUMBER = re.compile(rb"-?\d+")
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d[\d.eE+-]*|null|true|false')


def replaced(value, match, new):
    return value[: match.start()] + new + value[match.end() :]


def any_match(pattern, value, generator):
    found = list(pattern.finditer(value))
    return generator.choice(found) if found else None


def cut(value, generator, others):
    return value[: generator.randrange(len(value) + 1)]


def flip_bits(value, generator, others):
    value = bytearray(value)
    for _ in range(generator.randrange(1, 4)):
        value[generator.randrange(len(value))] ^= 1 << generator.randrange(8)
    return bytes(value)


def drop_bytes(value, generator, others):
    start, end = sorted(generator.randrange(len(value)) for _ in range(2))
    return value[:start] + value[end:]


def add_bytes(value, generator, others):
    at = generator.randrange(len(value) + 1)
    return value[:at] + generator.randbytes(generator.randrange(1, 20)) + value[at:]


def send_twice(value, generator, others):
    return value + generator.choice((b"", b" ", b"\n", b",")) + value


def nest(value, generator, others):
    match = any_match(TOKEN, value, generator)
    depth = generator.choice((3, 60, 900, 5000))
    start, end = generator.choice(((b"[", b"]"), (b'{"a":', b"}")))
    deep = start * depth + b"1" + end * depth
    return replaced(value, match, deep) if match else deep


def odd_number(value, generator, others):
    match = any_match(NUMBER, value, generator)
    return replaced(value, match, generator.choice(NUMBERS)) if match else value + b"\x80"


def odd_value(value, generator, others):
    match = any_match(TOKEN, value, generator)
    return replaced(value, match, generator.choice(VALUES)) if match else b"null"


def repeat_key(value, generator, others):
    match = any_match(KEY, value, generator)
    if match is None:
        return value[:-1]
    again = match[0] + generator.choice(VALUES) + b","
    return value[: match.start()] + again + value[match.start() :]


def rename_key(value, generator, others):
    match = any_match(KEY, value, generator)
    return replaced(value, match, b'"renamed":') if match else value[1:]


def odd_quotes(value, generator, others):
    return value.replace(b'"', generator.choice((b"'", b"", b'""')), generator.randrange(1, 9))


def odd_escape(value, generator, others):
    match = any_match(KEY, value, generator)
    at = match.end() if match else 0
    odd = (b'"\\ud800",', b'"\\x",', b'"\\u12",', b'"\xff\xfe",', b'"\x00",', b'"\xed\xa0\x80",')
    return value[:at] + generator.choice(odd) + value[at:]


def long_blanks(value, generator, others):
    return value.replace(b":", b":" + b" " * generator.randrange(1, 2000), 1) + b" \r\n\t"


def other_format(value, generator, others):
    return generator.choice(others)


def odd_text(value, generator, others):
    return generator.choice(
        (b"", b"{}", b"[]", b"null", b"\x00" * 48, b"{" * 3000, b"\xef\xbb\xbf{}")
    )


def frame(value, generator, others):
    twice = json.dumps(value.decode(errors="replace")).encode()
    header = b"\0\0\0\0\x07"
    return generator.choice(
        (BOM + value, BOM + BOM + value, header + value, b"[%s]" % value, twice)
    )


MUTATIONS = (cut, flip_bits, drop_bytes, add_bytes, send_twice, nest, odd_number, odd_value)
MUTATIONS += (repeat_key, rename_key, odd_quotes, odd_escape, long_blanks, other_format, odd_text)
MUTATIONS += (frame,)


def odd_record(name):
    """Return a mutation that writes a valid datum of the schema whose parts do not fit."""
    schema = ENCODERS[name].schema

    def mutate(value, generator, others):
        record = schemaless_reader(BytesIO(value), schema, None, return_named_type=True)
        part = generator.choice([field for field in record if field not in ("source", "version")])
        old = record[part]
        if isinstance(old, list):
            record[part] = generator.choice((None, [], old[:-1], old + old[:1], old[::-1]))
        elif isinstance(old, int):
            record[part] = generator.choice((0, -1, 2**31 - 1, -(2**31)))
        elif isinstance(old, str) and part not in ("operation", "txind"):
            record[part] = generator.choice(("", "a.b.c.d", "x" * 5000, "\x00", "-1@-1", "9" * 40))
        elif isinstance(old, dict):
            record[part] = {key: generator.choice(("", "{", "[1]", "null")) for key in old}
        elif part == "operation":
            record[part] = generator.choice(("INSERT", "UPDATE", "DELETE", "DDL", "COMMIT"))
        stream = BytesIO()
        try:
            schemaless_writer(stream, schema, record)
        except Exception:  # noqa: BLE001 - a part may not be empty
            return value[:-1]
        return stream.getvalue()

    return mutate


def messages_of(name, generator):
    """Return (value, event or None) in the order of delivery: the event of an intact message."""
    history = History(SEED, 240)
    sent = [
        (event, encoded) for event in history.events for encoded in [ENCODERS[name].encode(event)]
    ]
    base = [value for _, encoded in sent for value, _ in encoded if value is not None]
    others = [
        ENCODERS[other].encode(event)[0][0]
        for other in ENCODERS
        if other != name
        for event in history.events[:3]
    ]
    intact = [(encoded[0][0], event) for event, encoded in sent if len(encoded) == 1]
    mutations = MUTATIONS + ((odd_record(name),) * 4 if name in AVRO else ())
    broken = [
        (generator.choice(mutations)(generator.choice(base), generator, others), None)
        for _ in range(COUNT)
    ]
    messages = generator.sample(intact, 40) + broken
    generator.shuffle(messages)
    if name not in AVRO:
        # Each number in turn is too long for any cast.
        value = next(v for v, event in intact if event.kind == "insert" and event.table is TWO_KEYS)
        messages += [(replaced(value, match, b"9" * 20), None) for match in NUMBER.finditer(value)]
    return messages


def topic_of(name, event):
    """Return the topic of an intact message; broken ones come with those of one table."""
    table = event.table if event else EVERYTHING
    return ENCODERS[name].topic("hostile", table and table.name)


class World:
    def __init__(self, lakehouse, messages):
        self.lakehouse, self.messages = lakehouse, messages

    def events(self, name):
        return self.lakehouse.query(
            f"select * from silver.events where format = '{name}' order by offset, row_number"
        )


@pytest.fixture(scope="module")
def world(open_lakehouse, tmp_path_factory):
    messages = {name: messages_of(name, random.Random(f"{SEED} {name}")) for name in ENCODERS}
    change = lambda project: add_routes(project, "hostile", ENCODERS)  # noqa: E731
    lakehouse = open_lakehouse("hostile", change=change)
    landing = tmp_path_factory.mktemp("hostile-landing")
    rows = [
        (topic_of(name, event), 0, offset, value)
        for name, sent in messages.items()
        for offset, (value, event) in enumerate(sent)
    ]
    write_messages(landing / "messages.parquet", rows)
    lakehouse.ingest(landing)
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", "path:models/silver")
    yield World(lakehouse, messages)
    total = sum(map(len, messages.values()))
    broken = sum(event is None for sent in messages.values() for _, event in sent)
    SAID.append(f"hostile messages: {total}, {broken} of them broken")


def test_the_data_tests_of_dbt_find_nothing(world):
    world.lakehouse.dbt("test", "-s", "test_type:singular")


def test_no_message_is_lost(world):
    identity = "select distinct topic, partition, offset from"
    for these, those in (
        ("bronze.messages", "silver.events"),
        ("silver.events", "bronze.messages"),
    ):
        assert world.lakehouse.query(f"{identity} {these} except {identity} {those}") == []
    found = world.lakehouse.query(
        "select format, count(*) as n from silver.events where row_number = 0 group by format"
    )
    assert {row["format"]: row["n"] for row in found} == {
        name: len(sent) for name, sent in world.messages.items()
    }


@pytest.mark.parametrize("name", ENCODERS)
def test_a_rejected_message_keeps_its_bytes_and_says_why(world, name):
    rejected = world.lakehouse.query(
        f"select * from silver.rejected_messages where format = '{name}'"
    )
    assert rejected
    assert {row["reject_reason"] for row in rejected} <= REASONS
    assert all(row["reject_detail"] for row in rejected)
    for row in rejected:
        assert bytes(row["value"]) == world.messages[name][row["offset"]][0]


def floats_aside(image):
    kinds = {column.name: column.kind for column in EVERYTHING.columns}
    if image is None:
        return None
    is_float = {name: kinds.get(name) in ("float", "double") for name in image}
    single = {name: as_single if kinds.get(name) == "float" else float for name in image}
    return {
        name: single[name](float(text)) if text is not None and is_float[name] else text
        for name, text in image.items()
    }


@pytest.mark.parametrize("name", ENCODERS)
def test_intact_neighbours_are_untouched(world, name):
    rows = {}
    for row in world.events(name):
        rows.setdefault(row["offset"], []).append(row)
    checked = 0
    for offset, (value, event) in enumerate(world.messages[name]):
        if event is None:
            continue
        found = rows[offset]
        assert found[0]["kind"] == ENCODERS[name].encode(event)[0][1], found[0]["reject_detail"]
        changes = ENCODERS[name].changes(event)
        if changes:
            assert len(found) == len(changes)
        for row, change in zip(found, changes, strict=False):
            table, operation, before, after, key_columns = astuple(change)
            assert (row["table_name"], row["operation"]) == (table, operation), value
            assert floats_aside(row["before"]) == floats_aside(before)
            assert floats_aside(row["after"]) == floats_aside(after)
            assert row["key_columns"] == key_columns
        checked += 1
    assert checked == 40


@pytest.mark.parametrize("name", ENCODERS)
def test_what_is_accepted_is_what_the_bytes_say(world, name):
    wrong, kinds = [], Counter()
    for row in world.events(name):
        value, _ = world.messages[name][row["offset"]]
        kinds[row["kind"]] += row["row_number"] == 0
        if row["kind"] == "rejected":
            continue
        try:
            problem = untrue(name, value, row)
        except Refused as refused:
            problem = f"accepted, but {refused}"
        if problem:
            wrong.append((row["offset"], problem, value[:600]))
    print(f"{name}: {dict(kinds)}")
    assert not wrong, f"{len(wrong)}: {wrong[:4]}"


def untrue(name, value, row):
    """Say what an accepted row says otherwise than its message; None if nothing."""
    check_bytes(name, value)
    if row["kind"] != "row_change":
        return None
    said = rows_of(name, value)
    if not said:
        return None
    said = said[row["row_number"]]
    if row["operation"] != said.operation or said.table not in (None, row["table_name"]):
        return f"{row['operation']} of {row['table_name']}, not {said.operation} of {said.table}"
    types = row["column_types"] or {}
    for part, raw, other in (
        ("before", said.before, said.after),
        ("after", said.after, said.before),
    ):
        image = row[part]
        if image is None:
            continue
        for column in raw or ():
            if column not in image:
                return f"{part}.{column} is lost"
        for column, text in image.items():
            # What an image does not carry is taken from the other one.
            sources = [side for side in (raw, other) if side and column in side]
            if not sources:
                return f"{part}.{column} is invented"
            if not is_the_same(sources[0][column], text, types.get(column)):
                return f"{part}.{column} is {text!r}, not {sources[0][column]!r}"
    return None
