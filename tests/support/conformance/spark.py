"""The suite's SQL, which is PostgreSQL's, in Spark's words."""

import re

_WORDS = (
    (r"\{\{-? ?(target\.)?database ?-?\}\}\.|\{database\}\.|\bNone\.", ""),
    (r"\bdefault (null|'\w*')", ""),
    (r"::double precision\b", "::double"),
    (r"\btimestamp with(out)? time zone\b|\btimestamptz\b", "timestamp"),
    (r"\bcharacter varying\b", "varchar"),
    (r'"varchar"', '"string"'),
    (r"('[^'\n]*'|\b[\w.]+)::(\w+(?:\(\d+\))?)", r"cast(\1 as \2)"),
    (r"(?<=\bas )text\b|(?<=\s)text\b(?=\s*(,|\)|;|$))", "string"),
    (r"\bdate_part\(", "extract("),
    (r"\balter (table \S+)\s+add column (\w+) ([^;\n]*)", r"alter \1 add columns (\2 \3)"),
)
_TYPES = {"text": "string", "timestamp without time zone": "timestamp"}
_TYPED = re.compile(rf"(?m)^(\s*(?:- )?(?:data_)?type:\s*)({'|'.join(_TYPES)})$")


def in_spark(sql: str) -> str:
    """Return SQL, maybe with Jinja, in Spark's words."""
    for words, spark in _WORDS:
        sql = re.sub(words, spark, sql, flags=re.IGNORECASE | re.MULTILINE)
    return sql


def statements(sql: str) -> list[str]:
    """Return the statements of a script in Spark's words, which takes one at a time."""
    script = re.sub(r"--.*", "", in_spark(sql))
    named = re.sub(r'"(\w+)"', r"`\1`", script)
    return [statement for statement in named.split(";") if statement.strip()]


def file_in_spark(name: str, text: str) -> str:
    """Return the content of a project's file in Spark's words."""
    if name.endswith(".sql") or name == "dbt_project.yml":  # whose hooks are SQL
        return in_spark(text)
    if name.endswith((".yml", ".yaml")):
        # What a test says that a seed's column is; `data_type` is of a contract.
        text = re.sub(r"(?m)^(\s*type: )integer$", r"\1bigint", text)
        return _TYPED.sub(lambda found: f"{found[1]}{_TYPES[found[2]]}", text)
    return text
