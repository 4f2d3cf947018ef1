"""The format of a tool that there is not, which a test makes out of what `add-format` writes.

{"type":"U","schema":"crm","entity":"customers","pk":["id"],"was":{"id":1},"now":{"id":1},
 "lsn":12,"at":1700000000}
"""

import json

# What a person changes in the model of the template: members, operations, the unit of the time.
MODEL = {
    "'op string, db string, tbl string, keys array<string>, ": "'type string, schema string, ",
    "old map<string, string>, new map<string, string>, '": "entity string, pk array<string>, '",
    "'pos string, ts string, tx string, sql string'": (
        "'was map<string, string>, now map<string, string>, lsn string, at string, tx string, '\n"
        "        ~ 'stmt string'"
    ),
    "statement='sql'": "statement='stmt'",
    "json.op": "json.type",
    "json.pos": "json.lsn",
    "json.ts": "json.at",
    "json.sql": "json.stmt",
    "json.db": "json.schema",
    "json.tbl": "json.entity",
    "json.keys": "json.pk",
    "json.old": "json.was",
    "json.new": "json.now",
    "('insert', 'update', 'delete', 'snapshot')": "('I', 'U', 'D', 'R')",
    "('update', 'delete')": "('U', 'D')",
    "op = 'delete'": "type = 'D'",
    "op <> 'delete'": "type <> 'D'",
    "op <> 'update'": "type <> 'U'",
    "op <> 'snapshot'": "type <> 'R'",
    "if(op ": "if(type ",
    "'old', 'new'": "'was', 'now'",
    "\"'op is ' || coalesce(op, 'missing')\"": "\"'type is ' || coalesce(type, 'missing')\"",
    "incomplete_change('op')": "incomplete_change('type')",
    '"op || ': '"type || ',
    "op as operation": (
        "case type when 'I' then 'insert' when 'U' then 'update' when 'D' then 'delete' "
        "else 'snapshot' end as operation"
    ),
    "without pos": "without lsn",
    "pos is null": "lsn is null",
    "'pos', 'pos'": "'lsn', 'lsn'",
    "['pos',": "['lsn',",
    "-- pos is": "-- lsn is",
    "'ts', 'ts', 'milliseconds'": "'at', 'at', 'seconds'",
    "'ts', 'milliseconds'": "'at', 'seconds'",
}
MESSAGES = {
    '"op":"insert"': '"type":"I"',
    '"op":"update"': '"type":"U"',
    '"op":"delete"': '"type":"D"',
    '"op":"snapshot"': '"type":"R"',
    '"op":': '"type":',
    '"db":': '"schema":',
    '"tbl":': '"entity":',
    '"keys":': '"pk":',
    '"old":': '"was":',
    '"new":': '"now":',
    '"pos":': '"lsn":',
    '"ts":1700000000000': '"at":1700000000',
    '"ts":': '"at":',
    '"sql":': '"stmt":',
}


def fill_in(project):
    """Change the files of the format acme_json, as `lakehouse add-format acme_json` writes them."""
    folder, fixtures = (
        project / f"{each}/acme_json" for each in ("models/silver", "tests/fixtures")
    )
    _replace(MODEL, folder / "acme_json.sql")
    _replace({"detail: op is": "detail: type is"}, folder / "_acme_json.yml")
    _replace(MESSAGES, *fixtures.iterdir())


def _replace(words, *paths):
    texts = {path: path.read_text() for path in paths}
    for old, new in words.items():
        assert any(old in text for text in texts.values()), old
        texts = {path: text.replace(old, new) for path, text in texts.items()}
    for path, text in texts.items():
        path.write_text(text)


def message(lsn, operation, was=None, now=None):
    """Return a message about one row of crm.customers, as a line."""
    table = {"schema": "crm", "entity": "customers", "pk": ["id"]}
    return json.dumps({"type": operation, **table, "was": was, "now": now, "lsn": lsn, "at": 1})
