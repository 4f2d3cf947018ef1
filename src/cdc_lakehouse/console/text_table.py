"""Tables of text, as wide as the terminal."""

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Sequence


def text_table(header: list[str], cells: Sequence[Sequence[str | None]], limit: int = 60) -> str:
    """Return a table of text; columns beyond the terminal's width (120 in a pipe) go on below.

    Args:
        limit: the width at which a cell is cut.
    """
    columns = [_column(name, values, limit) for name, *values in zip(header, *cells, strict=True)]
    room = shutil.get_terminal_size((120, 24)).columns
    gap = " " if sum(_width(c[0]) + 2 for c in columns) - 2 > room else "  "
    blocks: list[list[list[str]]] = [[]]
    for column in columns:
        if blocks[-1] and sum(_width(c[0]) + len(gap) for c in [*blocks[-1], column]) > room + len(
            gap
        ):
            blocks.append([columns[0]])  # most often the key
        blocks[-1].append(column)
    return "\n\n".join(_joined(block, gap) for block in blocks)


def _joined(columns: list[list[str]], gap: str) -> str:
    tallest = max(map(len, columns))
    columns = [[" " * _width(c[0])] * (tallest - len(c)) + c for c in columns]
    return "\n".join(gap.join(line).rstrip() for line in zip(*columns, strict=True))


def _column(name: str, values: list[str | None], limit: int) -> list[str]:
    # Control characters would move the cursor, or worse.
    texts = ["NULL" if v is None else re.sub(r"[\x00-\x1f\x7f-\x9f]", "·", v) for v in values]
    texts = [text if len(text) <= limit else text[: limit - 1] + "…" for text in texts]
    width = max(map(_width, texts), default=0)
    # A long name of a narrow column is broken after an underscore.
    words = textwrap.wrap(name.replace("_", "_ "), max(8, width), break_long_words=False)
    heads = [line.replace("_ ", "_") for line in words]
    width = max(width, *map(_width, heads))
    numbers = all(re.fullmatch(r"NULL|-?[\d.,]+(E-?\d+)?", text) for text in texts)
    lines = [*heads, "-" * width, *texts]
    blanks = [" " * (width - _width(line)) for line in lines]
    return [b + t if numbers else t + b for b, t in zip(blanks, lines, strict=True)]


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(c) in "WF" for c in text)
