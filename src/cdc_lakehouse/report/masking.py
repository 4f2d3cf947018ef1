"""Show samples of messages and statements as texts, with or without the values of rows."""

import re

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# What looks like a literal of SQL: '...', and "..." where a value stands and not a name.
LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'?", re.DOTALL)
QUOTED_VALUE = re.compile(
    r"""\b(default|comment|by|password)(\s*[=(]?\s*)"(?:[^"\\]|\\.|"")*"?""",
    re.IGNORECASE | re.DOTALL,
)


def sample_text(value: bytes, size: int, has_values: bool) -> str:
    """Return the first bytes of a message as a text: UTF-8 if they are, else hexadecimal pairs.

    Args:
        value: the first bytes; a character at their end may be cut.
        size: of the whole message.
        has_values: whether the text is whole. Otherwise letters of it are x, digits are 0, and
            of bytes that are no text each is two points.
    """
    text = _utf8(value, is_cut=size > len(value))
    if text is None:
        return value.hex(" ") if has_values else " ".join([".."] * len(value))
    return text if has_values else re.sub(r"[^\W\d_]", "x", re.sub(r"\d", "0", text))


def _utf8(value: bytes, is_cut: bool) -> str | None:
    """Return the text that the bytes are, None if they are none for a person to read."""
    for end in range(len(value), max(len(value) - (4 if is_cut else 1), -1), -1):
        try:
            text = value[:end].decode()
        except UnicodeDecodeError:
            continue
        return None if CONTROL.search(text) else text
    return None


def masked_statement(ddl: str) -> str:
    """Return a statement with each literal replaced by '…', for it may be a value of a row."""
    return QUOTED_VALUE.sub(r'\1\2"…"', LITERAL.sub("'…'", ddl))
