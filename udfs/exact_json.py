"""Read the JSON of a message without losing anything of it.

`register` makes `exact_json(value binary, fields string, statement string)` a SQL function; `exact`
is the same for one value in plain Python. `fields` are the members that a model reads, in the words
of Spark's `from_json`; `statement` names the one that holds DDL (`payload.ddl.text`), empty if none
does. The function gives back

- `text`: what `from_json` has to read in place of the value, null where the value will do. It
  differs where `from_json` would alter a value: a fraction becomes a text of the same characters,
  and so does an object or a list that is a value of a row (of a `map<string, string>`).
- `problem`: why the value is not one exact JSON object with fields of these types, null if it is;
- `stated`: what the DDL does, as `read_ddl` says it; null where there is none.

Nothing raises but `fields` that cannot be read.
"""

import gc
import json
import re
import sys
from io import StringIO
from itertools import chain
from json.encoder import encode_basestring

import jiter
import pyarrow as pa

from udfs import ddl

RETURN_TYPE = (
    f"text string, problem struct<code: string, detail: string>, stated struct<{ddl.RETURN_TYPE}>"
)
BOM = b"\xef\xbb\xbf"
# As deep as Spark's reader goes. A JSON column of MySQL has 100 levels at most.
MOST_LEVELS = 1000
BLANKS = " \t\r\n"


class Refused(Exception):
    """A value that is not exact: error code, what was found. `path` leads to it from inside."""

    def __init__(self, code, found):
        super().__init__(code, found)
        self.path = []

    def detail(self):
        where, found = place(reversed(self.path)), self.args[1]
        detail = f"field {where[-200:]}: {found}" if where else found
        return detail.encode("utf-8", "backslashreplace").decode()[:900]


def register(spark, project_dir):
    """Register `exact_json(value binary, fields string, statement string)` in `spark`.

    Workers need jiter and pyarrow, but not this module.
    """
    from pyspark.sql.functions import arrow_udf

    def read_all(values: pa.Array, fields: pa.Array, statements: pa.Array) -> pa.Array:
        shapes = {text: shape_of(text) for text in fields.unique().to_pylist()}
        asked = zip(values.to_pylist(), fields.to_pylist(), statements.to_pylist(), strict=True)
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            return to_arrow([exact(value, shapes[text], path) for value, text, path in asked])
        finally:
            gc.enable()

    spark.udf.register("exact_json", arrow_udf(read_all, RETURN_TYPE))


def to_arrow(rows):
    """Return tuples (text, code, detail, stated) as a pyarrow StructArray of RETURN_TYPE."""
    *columns, stated = zip(*rows, strict=True) if rows else [()] * 4
    texts, codes, details = (pa.array(column, pa.string()) for column in columns)
    problems = pa.StructArray.from_arrays(
        [codes, details], names=["code", "detail"], mask=codes.is_null()
    )
    return pa.StructArray.from_arrays(
        [texts, problems, ddl.to_arrow(stated)], names=["text", "problem", "stated"]
    )


def exact(value, shape, statement=""):
    """Read one Kafka value (bytes or None) of a `shape_of`; return (text, code, detail, stated).

    `statement` is the path of the member that holds DDL, `stated` what `ddl.read` says of it.
    Never raises. Codes: empty_value, not_utf8 (half of a surrogate pair, too), not_json (not one
    JSON object), wrong_type (a field is not of its type), duplicate_keys.
    """
    if value is None:
        return None, None, None, None
    try:
        text, found = _exact(value, shape)
        return text, None, None, ddl.read(_text_at(found, statement)) if statement else None
    except Refused as refused:
        before = "behind a BOM, " if value.startswith(BOM) else ""
        return None, refused.args[0], before + refused.detail(), None
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, "not_json", f"cannot be read: {type(error).__name__}: {str(error)[:200]}", None


def _text_at(found, path):
    """Return the text of a member of a document, None if it has none there."""
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def _exact(value, shape):
    """Return the text that `from_json` has to read, None if the value will do, and the document."""
    if not value:
        raise Refused("empty_value", "the value has no bytes")
    has_bom = value.startswith(BOM)
    document = value[len(BOM) :] if has_bom else value
    found = _read_quickly(document)
    if found is None:
        return _read_slowly(value, shape)
    fitted = fit_document(found, shape)
    if fitted is not found:
        return write(fitted), fitted
    return document.decode() if has_bom else None, found


# ---------------------------------------------------------------------------- reading

_MINUS_ZERO = re.compile(rb"[\[:,\s]-0[\]},\s]")


def _read_quickly(document):
    """Return what jiter reads, None if it refuses the bytes or would alter a number."""
    if b"-0" in document and _MINUS_ZERO.search(document):
        return None
    try:
        return jiter.from_json(
            document,
            catch_duplicate_keys=True,
            float_mode="lossless-float",
            cache_mode="keys",
            allow_inf_nan=False,
        )
    except ValueError:
        return None


class Number(str):
    """A number as it stands in the text; it equals no text."""

    __slots__ = ()

    def __eq__(self, other):
        return type(other) is Number and str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


class Repeating(dict):
    """An object that has a key more than once; `twice` is (key, first value, second value)."""

    twice, is_ambiguous = None, False


# Messages of millions of small numbers would take ten times the memory.
_SMALL_NUMBERS = {str(number): Number(number) for number in range(100)}


def _number(text):
    return _SMALL_NUMBERS.get(text) or Number(text)


def _members(pairs):
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating, first = Repeating(found), {}
    for name, value in pairs:
        if name not in first:
            first[name] = value
        elif not repeating.is_ambiguous:
            repeating.twice = name, first[name], value
            repeating.is_ambiguous = first[name] != value
    return repeating


def _read_slowly(value, shape):
    """Read what jiter does not: repeated keys of equal value, long integers, deep nesting.
    The rest gets its reason here."""
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise Refused("not_utf8", _not_utf8(value, error)) from None
    text = text.removeprefix("\ufeff")
    if text.startswith("\0") and len(text) > 5:
        raise Refused("not_json", f"{_header(value)}, then {text[5:55]!r}")
    _check_depth(text)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20 * MOST_LEVELS))  # of which a level takes a few
    try:
        found = _decoded(text)
        _check_members(found)
        fitted = fit_document(found, shape)
        _check_characters(text, found)
        return write({name: fitted[name] for name in shape if name in fitted}), fitted
    finally:
        sys.setrecursionlimit(limit)


def _decoded(text):
    decoder = json.JSONDecoder(
        object_pairs_hook=_members,
        parse_int=_number,
        parse_float=Number,
        parse_constant=lambda name: _refuse_constant(name, text),
    )
    start = len(text) - len(text.lstrip(BLANKS))
    if start == len(text):
        raise Refused("not_json", "one JSON object expected, found nothing but blanks")
    try:
        found, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise Refused("not_json", _not_json(text, error)) from None
    rest = text[end:].strip(BLANKS)
    if rest:
        raise Refused("not_json", f"more text after character {end}: {rest[:50]!r}")
    return found


def _refuse_constant(name, text):
    found = re.finditer(rf'"(?:[^"\\]++|\\.)*+"|{name}', text)
    start = next(match.start() for match in found if match[0] == name)
    raise Refused("not_json", f"{name} at character {start + 1} is no JSON number")


def _not_utf8(value, error):
    found = f"byte {value[error.start]:#04x} at offset {error.start} of {len(value)}"
    if value[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"a BOM of UTF-16: {value[:2].hex(' ')}; the value has to be UTF-8"
    if value[:1] == b"\0" and len(value) > 5:
        return f"{_header(value)}, then no UTF-8: {found}, {error.reason}"
    return f"no UTF-8: {found}, {error.reason}"


def _header(value):
    return f"a registry header: {value[:5].hex(' ')}"


def _not_json(text, error):
    """Say what the decoder stumbled over; it counts characters from 0, people from 1."""
    said = error.msg.removesuffix(" at").removesuffix(" starting")
    if error.pos >= len(text.rstrip(BLANKS)) or said == "Unterminated string":
        end = text[-50:]
        return f"the text ends too early, after character {len(text)} {end!r}: {said}"
    near = text[error.pos : error.pos + 50]
    return f"{said} at character {error.pos + 1}: {near!r}"


_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{}]', re.DOTALL)


def _check_depth(text):
    depth = 0
    for match in _BRACKETS.finditer(text):
        sign = match[0]
        if sign in "[{":
            depth += 1
            if depth > MOST_LEVELS:
                where = f"from character {match.start() + 1} on"
                raise Refused("not_json", f"nested more than {MOST_LEVELS} levels deep {where}")
        elif sign in "]}":
            depth -= 1


def _check_members(found):
    """Refuse a document in which an object has a key twice with different values."""
    for value, path in walk(found):
        if type(value) is Repeating and value.is_ambiguous:
            raise twice(value, path)


def twice(value, path=()):
    """Return the refusal of a Repeating object, `path` leading to it."""
    name, first, second = value.twice
    refused = Refused("duplicate_keys", f"comes twice, as {_short(first)} and {_short(second)}")
    refused.path = [name, *reversed(path)]
    return refused


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _check_characters(text, found):
    """Refuse a document with half of a surrogate pair, which is no character."""
    if not _HALF.search(text):
        return
    for value, path in walk(found):
        names = value if isinstance(value, dict) else ()
        for characters in chain(names, (value,) if isinstance(value, str) else ()):
            try:
                characters.encode()
            except UnicodeEncodeError as error:
                half = f"\\u{ord(characters[error.start]):04x}"
                said = f"half of a surrogate pair, which is no character: {half}"
                refused = Refused("not_utf8", said)
                refused.path = list(reversed(path))
                raise refused from None


def walk(found):
    """Yield each value of a document, in its order, with the keys and indexes that lead to it, in a
    list that changes as the walk goes on."""
    path = []
    yield found, path
    open_values = [_members_of(found)]
    while open_values:
        step, value = next(open_values[-1], (None, None))
        if step is None:
            open_values.pop()
            del path[-1:]
            continue
        path.append(step)
        yield value, path
        open_values.append(_members_of(value))


def _members_of(value):
    if isinstance(value, dict):
        return iter(value.items())
    return enumerate(value if isinstance(value, list) else ())


def place(path):
    """Spell the keys and indexes that lead to a value: data[0].name"""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step[:100]}" for step in path)
    return "".join(steps).removeprefix(".")


def kind_of(value):
    """Name what a JSON value is."""
    kinds = {str: "a text", bool: "a boolean", list: "a list", type(None): "null"}
    return kinds.get(type(value), "an object" if isinstance(value, dict) else "a number")


def _short(value):
    return json_text(value)[:50]


# ---------------------------------------------------------------------------- shapes

# What `from_json` turns into the same text. Integers are: it has them as big as they come.
_PLAIN = frozenset((str, int, bool, type(None)))
_SHAPE_TOKENS = re.compile(r'\s*("[^"]*"|\w+|[<>,:])')


def shape_of(fields):
    """Return {member: function} of the fields of a `from_json`: names with `string`, `map<string,
    string>`, `array<...>` and `struct<...>`; a `comment` says what a string has to be.

    A function returns the value of a member as `from_json` has to read it, the same object if
    nothing changes.
    """
    tokens = _SHAPE_TOKENS.findall(fields)
    shape = _shape_of_members(tokens)
    if tokens or not shape:
        raise ValueError(f"cannot read {fields!r} as fields of from_json")
    return shape


def _shape_of_members(tokens):
    members = {}
    while tokens and tokens[0] != ">":
        name = tokens.pop(0)
        if tokens[0] == ":":
            tokens.pop(0)
        members[name] = _shape_of_type(tokens)
        if tokens and tokens[0] == ",":
            tokens.pop(0)
    return members


def _shape_of_type(tokens):
    kind = tokens.pop(0).lower()
    if kind == "string":
        expected = "a text"
        if tokens and tokens[0].lower() == "comment":
            expected = tokens[1].strip('"')
            del tokens[:2]
        return _scalar(expected)
    if kind == "map" and "".join(tokens[:5]).lower() == "<string,string>":
        del tokens[:5]
        return fit_row
    if kind not in ("array", "struct") or tokens.pop(0) != "<":
        raise ValueError(f"cannot read the type {kind} of a field of from_json")
    shape = _list(_shape_of_type(tokens)) if kind == "array" else _struct(_shape_of_members(tokens))
    tokens.pop(0)
    return shape


def _scalar(expected):
    def fit_scalar(value):
        if type(value) in _PLAIN:
            return value
        if isinstance(value, (list, dict)):
            raise misfit(expected, value)
        return str(value)

    return fit_scalar


def _list(fit):
    def fit_list(values):
        if values is None:
            return None
        if not isinstance(values, list):
            raise misfit("a list", values)
        fitted, is_changed = [], False
        for index, value in enumerate(values):
            try:
                fitted.append(fit(value))
            except Refused as refused:
                refused.path.append(index)
                raise
            is_changed |= fitted[-1] is not value
        return fitted if is_changed else values

    return fit_list


def _struct(members):
    return lambda value: None if value is None else fit_members(value, members)


def fit_document(found, shape):
    """Return a document as `from_json` has to read it, the same object if nothing changes."""
    if isinstance(found, dict):
        return fit_members(found, shape)
    kind = kind_of(found)
    if isinstance(found, list):
        kind = f"a list of {len(found)}"
    elif isinstance(found, str) and found.lstrip(BLANKS)[:1] in ("{", "["):
        kind = f"a text that holds JSON, which is JSON encoded twice: {found[:50]!r}"
    raise Refused("not_json", f"one JSON object expected, found {kind}")


def fit_members(value, members):
    """Return an object whose members are of `members`, the same object if nothing changes."""
    if not isinstance(value, dict):
        raise misfit("an object", value)
    if type(value) is Repeating:  # the reader of an envelope takes the last one
        raise twice(value)
    changed = {}
    for name, fit in members.items():
        found = value.get(name)
        if found is None:
            continue
        try:
            fitted = fit(found)
        except Refused as refused:
            refused.path.append(name)
            raise
        if fitted is not found:
            changed[name] = fitted
    if not changed:
        return value
    return {name: changed.get(name, value[name]) for name in members if name in value}


def fit_row(row):
    """Return a row of values (or null), the same object if nothing changes."""
    if row is None:
        return None
    if not isinstance(row, dict):
        raise misfit("an object", row)
    if _PLAIN.issuperset(map(type, row.values())):
        return row
    return {
        name: value if type(value) in _PLAIN else json_text(value) for name, value in row.items()
    }


def misfit(expected, value):
    """Return the refusal of a value that is not of its field's type."""
    return Refused("wrong_type", f"expected {expected}, found {kind_of(value)}")


# ---------------------------------------------------------------------------- writing

# Of what `fit_document` returns, which has no numbers but integers.
# What has no shape, like a fraction that no model reads, may be written anyhow.
write = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str
).encode


def json_text(value):
    """Write a value as JSON without blanks, every number as it stood in the message."""
    text = StringIO()
    _write_into(text.write, value)
    return text.getvalue()


def _write_into(add, value):
    kind = type(value)
    if kind is str:
        add(encode_basestring(value))
    elif value is None:
        add("null")
    elif kind is bool:
        add("true" if value else "false")
    elif isinstance(value, dict):
        before = "{"
        for name, member in value.items():
            add(before)
            add(encode_basestring(name))
            add(":")
            _write_into(add, member)
            before = ","
        add("}" if value else "{}")
    elif kind is list:
        before = "["
        for member in value:
            add(before)
            _write_into(add, member)
            before = ","
        add("]" if value else "[]")
    else:
        add(str(value))
