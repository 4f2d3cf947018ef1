"""Texts and names as Spark SQL takes them, and statements as people read them."""

import re

# A text, a name in backticks or a note, in which a parenthesis is none.
_NO_CODE = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?:[^`]|``)*`|--[^\n]*", re.DOTALL)


def quoted(text: str) -> str:
    """Return `text` as a string literal of Spark SQL.

    Spark takes `${...}` for a variable even there, so no `{` stands in it as such.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("{", "\\u007b") + "'"


def identifier(name: str) -> str:
    """Return a name as SQL takes it whatever it consists of, in backticks."""
    return "`" + name.replace("`", "``") + "`"


def indented(statement: str) -> str:
    """Return a statement whose lines are indented by the parentheses around them, four blanks each.

    A text of several lines may change by it: it is for readers, and not run.
    """
    depth, lines = 0, []
    for line in (line.strip() for line in statement.splitlines() if line.strip()):
        code = _NO_CODE.sub("", line)
        closing = len(code) - len(code.lstrip(")"))
        lines.append("    " * max(0, depth - closing) + line)
        depth += code.count("(") - code.count(")")
    return "\n".join(lines)
