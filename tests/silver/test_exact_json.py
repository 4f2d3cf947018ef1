"""`exact_json` loses nothing of a JSON object, and says what is wrong with anything else.

Expected texts and details are written by hand; the rest is random, and compared with Python's own
reader.
"""

import importlib
import json

import pyarrow as pa
import pytest
from conftest import PROJECT
from hypothesis import given
from hypothesis import strategies as st

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
exact_json = importlib.import_module("udfs.exact_json")
ddl = importlib.import_module("udfs.ddl")

FIELDS = (
    'type string, es string comment "a number", pkNames array<string>, payload struct<op: string,'
    " after: struct<row: map<string, string>>>, data array<map<string, string>>,"
    " meta map<string, string>"
)
SHAPE = exact_json.shape_of(FIELDS)
MEGABYTE = 1 << 20


def exact(value):
    return exact_json.exact(value if isinstance(value, bytes) else value.encode(), SHAPE)[:3]


def text_of(value):
    """Return what `from_json` reads of a value that has no problem."""
    text, code, detail = exact(value)
    assert (code, detail) == (None, None)
    return value if text is None else text


def row_of(members):
    """Return the row of which a message has `members`, as `from_json` reads it."""
    return json.loads(text_of(f'{{"data":[{{{members}}}]}}'))["data"][0]


def problem_of(value):
    text, code, detail = exact(value)
    assert text is None
    return code, detail


@pytest.mark.parametrize(
    "value",
    [
        '{"type":"INSERT","data":[{"id":"1","a":"1.50","b":null}],"meta":{"a":"x"},"es":1600000000000}',
        # from_json has integers as big as they come, and booleans as they are written.
        '{"data":[{"id":12345678901234567890123456789012345678901234567890,"a":true}]}',
        ' \r\n\t{"type" : "a"} \n',
        # What no model reads may be anything.
        '{"sqlType":{"a":1.50,"b":[{"c":-0.0}]},"payload":{"unread":2.5},"type":"INSERT"}',
        '{"type":"2024-01-02 03:04:05.6789","data":[{"a":"-0","b":"1e5","c":"22:13:20.5"}]}',
        "{}",
        '{"data":[null,{}],"meta":null,"payload":{"after":null}}',
    ],
)
def test_a_value_that_from_json_reads_as_it_is_stays(value):
    assert exact(value) == (None, None, None)


@pytest.mark.parametrize(
    "number",
    [
        *(
            "1.50",
            "-0.10",
            "1e5",
            "2.5E-30",
            "1E-7",
            "3e+8",
            "1e400",
            "-1E+2",
            "0.0",
            "-0.0",
            "0e0",
        ),
        *("-0", "9" * 4000, "9" * 5000, "-" + "1" * 100_000, "0.1234567890123456789", "1.0e0"),
    ],
)
def test_a_number_of_a_row_keeps_its_text(number):
    for row in (f'"a":{number}', f'"x":1.5,"a":{number}', f'"a": {number} ,"b":"y"'):
        found = json.loads(
            text_of(f'{{"data":[{{{row}}}]}}'), parse_int=str, parse_float=lambda text: "altered"
        )
        assert found["data"][0]["a"] == number
    found = json.loads(
        text_of(f'{{"payload":{{"after":{{"row":{{"a":{number}}}}}}}}}'), parse_int=str
    )
    assert found["payload"]["after"]["row"]["a"] == number


NESTED = '{"a":[1,1.50,"x",true,null],"b":{"c":1E+2}}'


@pytest.mark.parametrize("other", ["", '"x":1,', '"x":1.50,', '"x":"1.50",', '"x":-0,'])
def test_an_object_that_is_a_value_keeps_its_text(other):
    """Whatever other numbers the message has."""
    assert row_of(f'{other}"j":{NESTED}')["j"] == NESTED
    assert row_of(f'{other}"j":[{NESTED},-0,0.10]')["j"] == f"[{NESTED},-0,0.10]"
    payload = f'{{"op":"a","after":{{"row":{{{other}"j":{NESTED}}}}}}}'
    found = json.loads(text_of(f'{{"es":1.5,"payload":{payload},"meta":{{"m":{NESTED}}}}}'))
    assert found["payload"]["after"]["row"]["j"] == found["meta"]["m"] == NESTED


@pytest.mark.parametrize(
    "sent, text",
    [
        ('{ "a" : [ 1 , 2.0 ] ,\n"b":"c d" }', '{"a":[1,2.0],"b":"c d"}'),
        ("[]", "[]"),
        ("{}", "{}"),
        ("[ { } , [ ] ]", "[{},[]]"),
        ('{"\\u00fc":"\\ud83d\\ude00 \\u0000 \\" \\\\ \\n"}', '{"ü":"😀 \\u0000 \\" \\\\ \\n"}'),
        ('[12345678901234567890.1234567890,"1.50"]', '[12345678901234567890.1234567890,"1.50"]'),
        ('{"a":1,"a":1}', '{"a":1}'),
        ("[" * 990 + "1.50" + "]" * 990, "[" * 990 + "1.50" + "]" * 990),
        ("[" + "9" * 5000 + "]", "[" + "9" * 5000 + "]"),
    ],
)
def test_of_a_nested_value_only_blanks_go(sent, text):
    assert row_of(f'"j":{sent}')["j"] == text


def test_a_key_that_comes_twice_with_one_value_is_there_once():
    assert text_of('{"data":[{"a":"1","a":"1","b":2.50}]}') == '{"data":[{"a":"1","b":"2.50"}]}'
    assert row_of('"a":null,"a":null') == {"a": None}
    assert row_of('"j":{"a":[1,{"b":2}]},"j":{"a":[1,{"b":2}]}') == {"j": '{"a":[1,{"b":2}]}'}


ENVELOPE = '"specversion":"1.0","id":"1","source":"/s","type":"t"'


@pytest.mark.parametrize(
    "event",
    [
        f'{{{ENVELOPE},"datacontenttype":"application/json","data":{{"type":"a","data":[{{"n":1.50}}]}}}}',
        # Base64 of the same object.
        f'{{{ENVELOPE},"data_base64":"eyJ0eXBlIjoiYSIsImRhdGEiOlt7Im4iOjEuNTB9XX0="}}',
        # Whole numbers of more than 4300 digits are read another way.
        f'{{"n":{"1" * 5000},{ENVELOPE},"data":{{"type":"a","data":[{{"n":1.50}}]}}}}',
    ],
)
def test_of_a_cloud_event_its_data_is_read(event):
    assert json.loads(text_of(event)) == {"type": "a", "data": [{"n": "1.50"}]}


@pytest.mark.parametrize(
    "event, problem",
    [
        (f'{{{ENVELOPE},"data":{{"type":"a","type":"b"}}}}', ("duplicate_keys", "type")),
        (f'{{{ENVELOPE},"data":{{"type":"a","type":"a"}}}}', ("duplicate_keys", "type")),
        (
            f'{{{ENVELOPE},"iodebeziumop":"c","data":{{"type":"a","type":"a"}}}}',
            ("duplicate_keys", "type"),
        ),
        (
            f'{{{ENVELOPE},"data":"AAAA","datacontenttype":"application/avro"}}',
            ("wrong_type", "field data: a CloudEvent whose data is a text of application/avro; "),
        ),
        (
            f'{{{ENVELOPE},"data_base64":"AAAA"}}',
            ("wrong_type", "field data: a CloudEvent whose data is null; "),
        ),
        (
            f'{{{ENVELOPE},"data":{{"es":[1]}}}}',
            ("wrong_type", "field es: expected a number, found a list"),
        ),
    ],
)
def test_a_cloud_event_without_an_exact_message_is_refused(event, problem):
    code, detail = problem_of(event)
    assert code == problem[0] and problem[1] in detail


def test_a_row_with_a_column_specversion_is_no_cloud_event():
    assert row_of('"specversion":"1.0","data":{"a":1}') == {"specversion": "1.0", "data": '{"a":1}'}


def test_a_bom_is_left_out():
    assert exact(b'\xef\xbb\xbf{"type":"a"}') == ('{"type":"a"}', None, None)
    assert text_of(b'\xef\xbb\xbf {"data":[{"a":1.50}]}') == '{"data":[{"a":"1.50"}]}'
    assert text_of(b'\xef\xbb\xbf{"data":[{"a":-0}]}') == '{"data":[{"a":"-0"}]}'


PROBLEMS = {
    "": ("empty_value", "the value has no bytes"),
    "\ufeff": ("not_json", "behind a BOM, one JSON object expected, found nothing but blanks"),
    " \n": ("not_json", "one JSON object expected, found nothing but blanks"),
    "null": ("not_json", "one JSON object expected, found null"),
    "7": ("not_json", "one JSON object expected, found a number"),
    "-1.5": ("not_json", "one JSON object expected, found a number"),
    '"abc"': ("not_json", "one JSON object expected, found a text"),
    '[{"type":"a"},{"type":"b"}]': ("not_json", "one JSON object expected, found a list of 2"),
    '"{\\"type\\":\\"a\\"}"': (
        "not_json",
        "one JSON object expected, found a text that holds JSON, which is JSON encoded twice:"
        ' \'{"type":"a"}\'',
    ),
    '{"type":"a"}\n{"type":"b"}': ("not_json", 'more text after character 12: \'{"type":"b"}\''),
    '{"type":"a"}{"type":"b"}': ("not_json", 'more text after character 12: \'{"type":"b"}\''),
    '{"type":"ä"} trailing': ("not_json", "more text after character 12: 'trailing'"),
    '{"type":"a"}}': ("not_json", "more text after character 12: '}'"),
    '{"type":"a"},"x":1': ("not_json", "more text after character 12: ',\"x\":1'"),
    "no message": ("not_json", "Expecting value at character 1: 'no message'"),
    '{"type":"a", // a comment': (
        "not_json",
        "Expecting property name enclosed in double quotes at character 14: '// a comment'",
    ),
    "{'type':'a'}": (
        "not_json",
        "Expecting property name enclosed in double quotes at character 2: \"'type':'a'}\"",
    ),
    '{"type":"a","da': (
        "not_json",
        'the text ends too early, after character 15 \'{"type":"a","da\': Unterminated string',
    ),
    '{"type":"a"': (
        "not_json",
        "the text ends too early, after character 11 '{\"type\":\"a\"': Expecting ',' delimiter",
    ),
    '{"data":[{"a":"NaN","b":NaN}]}': ("not_json", "NaN at character 25 is no JSON number"),
    '{"data":[{"b":-Infinity}]}': ("not_json", "-Infinity at character 15 is no JSON number"),
    '{"a":01}': ("not_json", "Expecting ',' delimiter at character 7: '1}'"),
    '{"a":"\x01"}': ("not_json", "Invalid control character at character 7: '\\x01\"}'"),
    '\0\0\0\0\x07{"type":"a"}': (
        "not_json",
        'a registry header: 00 00 00 00 07, then \'{"type":"a"}\'',
    ),
    b"\0\0\0\0\x07\xff\x01": (
        "not_utf8",
        "a registry header: 00 00 00 00 07, then no UTF-8: byte 0xff at offset 5 of 7,"
        " invalid start byte",
    ),
    b'{"type":"\xff"}': ("not_utf8", "no UTF-8: byte 0xff at offset 9 of 12, invalid start byte"),
    b'\xef\xbb\xbf{"type":"\xff"}': (
        "not_utf8",
        "behind a BOM, no UTF-8: byte 0xff at offset 12 of 15, invalid start byte",
    ),
    b"\xff\xfe{\0}\0": ("not_utf8", "a BOM of UTF-16: ff fe; the value has to be UTF-8"),
    '{"es":[1600000000000]}': ("wrong_type", "field es: expected a number, found a list"),
    '{"type":{}}': ("wrong_type", "field type: expected a text, found an object"),
    '{"data":{"id":1}}': ("wrong_type", "field data: expected a list, found an object"),
    '{"data":"id"}': ("wrong_type", "field data: expected a list, found a text"),
    '{"data":[{"id":1},5.5]}': ("wrong_type", "field data[1]: expected an object, found a number"),
    '{"data":[{"id":-0},true]}': (
        "wrong_type",
        "field data[1]: expected an object, found a boolean",
    ),
    '{"pkNames":["a",["b"]]}': ("wrong_type", "field pkNames[1]: expected a text, found a list"),
    '{"payload":7}': ("wrong_type", "field payload: expected an object, found a number"),
    '{"payload":{"after":{"row":[]}}}': (
        "wrong_type",
        "field payload.after.row: expected an object, found a list",
    ),
    '{"type":"a","type":"b"}': (
        "duplicate_keys",
        'field type: comes twice, as "a" and "b"',
    ),
    # The envelope says a thing once.
    '{"type":"a","type":"a"}': ("duplicate_keys", 'field type: comes twice, as "a" and "a"'),
    '{"unread":1,"unread":1}': ("duplicate_keys", "field unread: comes twice, as 1 and 1"),
    '{"payload":{"op":"a","op":"a"}}': (
        "duplicate_keys",
        'field payload.op: comes twice, as "a" and "a"',
    ),
    '{"data":[{"a":"1"},{"b":1.50,"b":null}]}': (
        "duplicate_keys",
        "field data[1].b: comes twice, as 1.50 and null",
    ),
    '{"data":[{"a":1,"a":"1"}]}': ("duplicate_keys", 'field data[0].a: comes twice, as 1 and "1"'),
    '{"data":[{"a":1,"a":1.0}]}': ("duplicate_keys", "field data[0].a: comes twice, as 1 and 1.0"),
    '{"data":[{"j":{"a":[{"c":1,"c":2}]}}]}': (
        "duplicate_keys",
        "field data[0].j.a[0].c: comes twice, as 1 and 2",
    ),
    '{"data":[{"a":[1],"a":[1.0]}]}': (
        "duplicate_keys",
        "field data[0].a: comes twice, as [1] and [1.0]",
    ),
    '{"data":[{"a":"\\ud83d"}]}': (
        "not_utf8",
        "field data[0].a: half of a surrogate pair, which is no character: \\ud83d",
    ),
    '{"x":{"y":["\\ude00\\ud83d"]}}': (
        "not_utf8",
        "field x.y[0]: half of a surrogate pair, which is no character: \\ude00",
    ),
    '{"\\ud83d":1}': ("not_utf8", "half of a surrogate pair, which is no character: \\ud83d"),
    '{"data":[{"\\ud83d":1,"\\ud83d":2}]}': (
        "duplicate_keys",
        "field data[0].\\ud83d: comes twice, as 1 and 2",
    ),
    '{"data":' + "[" * 1500: (
        "not_json",
        "nested more than 1000 levels deep from character 1008 on",
    ),
    '{"x":' + '{"a":' * 100_000 + "1" + "}" * 100_001: (
        "not_json",
        "nested more than 1000 levels deep from character 5001 on",
    ),
}


@pytest.mark.parametrize("value, problem", PROBLEMS.items(), ids=lambda part: repr(part)[:40])
def test_a_problem_says_what_was_found_and_where(value, problem):
    assert problem_of(value) == problem


NO_NUMBERS = ["01", "1.", "-", ".5", "1a", "--1", "1.2.3", "+1", "1e", "0x1F"]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_refused(text):
    for value in (f'{{"a":{text},"b":1}}', f'{{"data":[{{"a": {text}}}]}}'):
        code, detail = problem_of(value)
        assert (code, "character" in detail) == ("not_json", True)


def test_a_detail_is_short_and_can_be_written():
    for value in (
        '{"' + "x" * MEGABYTE + '":1',
        '{"data":[{"' + "\\ud83d" * 1000 + '":"\\ud83d"}]}',
    ):
        _, detail = problem_of(value)
        assert len(detail.encode()) < 1500
    twice = '{"data":[{"' + "x" * MEGABYTE + '":"' + "y" * MEGABYTE + '"'
    _, detail = problem_of(twice + "," + twice.removeprefix('{"data":[{') + "z" + "}]}")
    assert len(detail) <= 1000


@pytest.mark.parametrize("unit", ["x", "17", r"\\", r"\"", '", "', "\\u00fc", "-0 ,", "[{"])
def test_a_long_text_is_no_more_than_long(unit):
    before = '{"data": [{"a": "' + unit * (MEGABYTE // len(unit)) + '", "b": '
    if unit == '", "':  # members of a list
        before = before.replace('{"a": "', '{"a": ["')[: -len('", "b": ')] + '"], "b": '
    for number in ("1.10", "-0"):
        row = json.loads(text_of(before + number + "}]}"))["data"][0]
        assert row["b"] == number
        a = json.loads(before + "1}]}")["data"][0]["a"]
        assert (json.loads(row["a"]) if isinstance(a, list) else row["a"]) == a


@pytest.mark.parametrize("unit", ["[],", "{},", "0,", "1.5,", '"",', "-0,"])
def test_many_small_values_are_no_more_than_many(unit):
    many = "[" + unit * (MEGABYTE // len(unit)) + "0]"
    assert row_of(f'"j":{many}')["j"] == many


def test_fields_that_no_from_json_has_are_refused():
    for fields in ("", "id bigint", "data array<string", "a map<string, int>"):
        with pytest.raises((ValueError, IndexError)):
            exact_json.shape_of(fields)


def test_a_name_that_is_no_word_stands_in_backticks():
    fields = "`before-image` map<string, string>, m struct<`table-name`: string>"
    shape = exact_json.shape_of(fields)
    value = b'{"before-image": {"a": 1.50}, "m": {"table-name": 2.0}}'
    text, code, *_ = exact_json.exact(value, shape)
    assert (json.loads(text), code) == (
        {"before-image": {"a": "1.50"}, "m": {"table-name": "2.0"}},
        None,
    )
    assert exact_json.exact(b'{"before-image": []}', shape)[1] == "wrong_type"


def test_an_arrow_array_has_a_row_for_each_value():
    rows = [(None,) * 4, ("{}", None, None, None), (None, "not_json", "why", None)]
    problem = {"code": "not_json", "detail": "why"}
    assert exact_json.to_arrow(rows).to_pylist() == [
        {"text": None, "problem": None, "stated": None},
        {"text": "{}", "problem": None, "stated": None},
        {"text": None, "problem": problem, "stated": None},
    ]
    text, problem = pa.string(), pa.struct({"code": pa.string(), "detail": pa.string()})
    stated = ddl.to_arrow([]).type
    wanted = pa.struct({"text": text, "problem": problem, "stated": stated})
    assert exact_json.to_arrow([]).type == wanted


@pytest.mark.parametrize(
    ("value", "path", "tables"),
    [
        ('{"sql": "truncate t", "n": 1.5}', "sql", ["t"]),
        ('\ufeff{"sql": "truncate t"}', "sql", ["t"]),
        ('{"sql": "truncate t", "sql": "truncate t", "data": []}', "data.sql", None),
        ('{"data": [], "x": {"ddl": {"text": "truncate a, b"}}}', "x.ddl.text", ["a", "b"]),
        ('{"payload": {"ddl": "truncate t"}}', "payload.ddl,ddl", ["t"]),
        ('{"payload": {"ddl": null}, "ddl": "truncate t"}', "payload.ddl,ddl", ["t"]),
        ('{"payload": {}}', "payload.ddl,ddl", None),
        ('{"sql": ["truncate t"]}', "sql", None),
        ('{"sql": 5}', "sql", None),
        ('{"sql": null}', "sql", None),
        ('{"sql": "insert into t values (\'truncate u\')"}', "sql", []),
        ("{}", "sql", None),
        ('{"sql": "truncate t"}', "", None),
        ('{"sql": "truncate t"', "sql", None),
    ],
)
def test_a_statement_is_read_where_the_model_says_it_is(value, path, tables):
    shape = exact_json.shape_of("data array<map<string, string>>")
    *_, stated = exact_json.exact(value.encode(), shape, path)
    assert (stated and [table["table_name"] for table in stated["tables"]]) == tables


LONE = exact_json.shape_of(
    'schema struct<a string>, payload map<string, string> comment "or the document"'
)


def test_a_document_without_a_schema_may_be_a_row():
    value = b'{"a": 1.50, "b": {"c": [1.0, -0]}, "d": null, "e": "x", "f": 7, "g": true}'
    text, *problem, _ = exact_json.exact(value, LONE)
    assert problem == [None, None]
    row = {"a": "1.50", "b": '{"c":[1.0,-0]}', "d": None, "e": "x", "f": "7", "g": True}
    assert json.loads(text) == {"payload": row}
    assert exact_json.exact(b'{"a": 1, "a": 1}', LONE)[:2] == ('{"payload":{"a":"1"}}', None)
    assert exact_json.exact(b'{"a": 1, "a": 2}', LONE)[1] == "duplicate_keys"
    assert exact_json.exact(b"[]", LONE)[1] == "not_json"
    beside = b'{"schema": {}, "payload": [1]}'
    assert exact_json.exact(beside, LONE)[1] == "wrong_type"


@pytest.mark.parametrize(
    ("value", "is_row"),
    [
        ('{"schema": {"a": "x"}, "payload": {"b": 1}}', False),
        ('{"schema": null, "payload": {"b": 1}}', False),
        ('{"schema": null, "payload": null}', False),
        ('{"schema": "public", "payload": "{}"}', True),
        ('{"schema": null, "payload": 7}', True),
        ('{"payload": {"b": 1}}', True),
        ('{"schema": {"a": "x"}, "payload": {"b": 1}, "id": 1}', True),
        ("{}", True),
    ],
)
def test_a_row_may_have_the_columns_schema_and_payload(value, is_row):
    text, *problem, _ = exact_json.exact(value.encode(), LONE)
    assert problem == [None, None]
    assert (text is not None and text.startswith('{"payload":')) == is_row


LISTED = exact_json.shape_of('data map<string, string> comment "or a list of one", op string')


def test_a_row_may_be_the_only_one_of_a_list():
    for value in (b'{"data": {"a": 1.50}, "op": "c"}', b'{"data": [{"a": 1.50}], "op": "c"}'):
        text, *problem, _ = exact_json.exact(value, LISTED)
        assert problem == [None, None]
        assert json.loads(text) == {"data": {"a": "1.50"}, "op": "c"}
    assert exact_json.exact(b'{"data": [null]}', LISTED)[:2] == ('{"data":null}', None)
    for found in ("[]", "[{}, {}]", "[[{}]]", '["x"]', "7"):
        value = f'{{"data": {found}}}'.encode()
        assert exact_json.exact(value, LISTED)[1] == "wrong_type", found


# ---------------------------------------------------------------------------- at random

NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["-0", "1.50", "[1, 2.0]", '{"a": 1}', "\\", '"', "\0"]
)
BLANKS = st.sampled_from(["", "", " ", "\n", "\t "])


def spelled(text):
    return st.booleans().map(lambda escape: json.dumps(text, ensure_ascii=escape))


def members(values):
    names = st.lists(TEXTS, max_size=4, unique=True)

    def spell(names):
        parts = [
            st.tuples(spelled(name), BLANKS, st.just(":"), values).map("".join) for name in names
        ]
        return st.tuples(*parts, BLANKS).map(lambda found: f",{found[-1]}".join(found[:-1]))

    return names.flatmap(spell)


WORDS = st.sampled_from(["null", "true", "false"])
VALUES = st.recursive(
    NUMBERS | WORDS | TEXTS.flatmap(spelled),
    lambda values: (
        members(values).map(lambda text: f"{{{text}}}")
        | st.tuples(BLANKS, st.lists(values, max_size=4)).map(
            lambda drawn: "[" + (drawn[0] + "," + drawn[0]).join(drawn[1]) + "]"
        )
    ),
    max_leaves=12,
)


def read(text):
    """Read JSON, each number as ("number", its text): equal only to one of the same digits."""
    number = lambda digits: ("number", digits)  # noqa: E731
    return json.loads(text, parse_int=number, parse_float=number)


@given(members(VALUES), VALUES)
def test_every_number_is_kept_digit_for_digit(row, unread):
    value = f'{{"unread":{unread},"data":[{{{row}}}]}}'
    sent = read(value)["data"][0]
    found = json.loads(text_of(value), parse_float=lambda text: "altered")["data"][0]
    integers = json.loads(text_of(value), parse_int=str)["data"][0]
    assert list(found) == list(sent)
    for name, member in sent.items():
        if isinstance(member, tuple):
            assert integers[name] == member[1]
        elif isinstance(member, (dict, list)):
            assert read(found[name]) == member
            assert _has_no_blanks(found[name])
        else:
            assert found[name] == member


def _has_no_blanks(text):

    quoted, escaped = False, False
    for sign in text:
        if quoted:
            quoted = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            quoted = True
        elif sign in " \t\r\n":
            return False
    return True


@given(st.binary(max_size=60) | VALUES.map(str.encode))
def test_no_bytes_raise(value):
    text, code, detail = exact(value)
    assert (code is None) == (detail is None)
    assert text is None or code is None
    if code is None:
        assert isinstance(json.loads(text or value), dict)
