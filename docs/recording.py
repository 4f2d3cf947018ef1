"""Record a terminal as docs/images/first-run.svg: text that plays by itself. No option is needed.

`make screenshots` runs it. Of a terminal it knows what the commands here print: lines, lines that
are written anew after a carriage return, and three colours. It stops at what moves the cursor.
"""

import codecs
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from html import escape
from itertools import groupby, pairwise, zip_longest
from pathlib import Path

PROJECT = Path(__file__).parents[1]
RECORDING = PROJECT / "docs" / "images" / "first-run.svg"
COMMANDS = (
    "make run",
    'lakehouse query "select id, customer_id, status, total, shipped_at from gold.orders limit 5"',
)
COLUMNS, ROWS = 100, 30
# Seconds, as it plays: of a step, of the longest wait, of all that a command prints, of the end.
STEP, LONGEST_WAIT, LONGEST_COMMAND, END = 0.25, 1.5, 16.0, 6.0
PROMPT = "\x1b[32m$\x1b[0m "
COLOURS = {"31": "red", "32": "green", "33": "yellow"}
TOKEN = re.compile(r"\x1b\[(?:K|([\d;]*)m)|([^\x1b])")
UNKNOWN = re.compile(r"\x1b(?!\[K|\[[\d;]*m).{,5}|[^\x1b\r\n -~\xa0-\U0010ffff]")
HEIGHT = 17  # of a row; a character is 8.43 wide, and a Chinese one 14 unless .wide makes it two
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve"
 width="874" height="{height}" viewBox="0 0 874 {height}">
<title>The first minutes, at a terminal</title>
<desc>What is typed and what it prints, with shorter waits: {commands}</desc>
<style>
text {{ font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
text {{ fill: #e6edf3; white-space: pre }}
.wide {{ letter-spacing: .2em }}
.red {{ fill: #ff7b72 }}
.green {{ fill: #7ee787 }}
.yellow {{ fill: #e3b341 }}
@media (prefers-reduced-motion: no-preference) {{
text, g {{ animation: {seconds:g}s step-end infinite }}
{animations}
}}
</style>
<rect width="874" height="{height}" rx="8" fill="#0d1117"/>
<svg x="12" y="12" width="850" height="{screen}">
<g transform="translate(0 -{up})" style="animation-name:up">
{texts}
</g>
</svg>
</svg>
"""


def record(command: str, settings: Mapping[str, str]) -> list[tuple[float, str]]:
    """Run a command at a terminal; return what it writes, each part after how many seconds.

    What it waits for is shown in less time, until all of it plays in LONGEST_COMMAND.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (ROWS, COLUMNS))
    running = subprocess.Popen(
        command, shell=True, cwd=PROJECT, env=settings, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    decoder, times, texts = codecs.getincrementaldecoder("utf-8")(), [time.monotonic()], []
    with suppress(OSError):  # nobody has the other end open any longer
        while part := os.read(ours, 65536):
            times.append(time.monotonic())
            texts.append(decoder.decode(part))
    os.close(ours)
    if running.wait():
        sys.exit(f"recording.py: `{command}` ended with {running.returncode}:\n{''.join(texts)}")
    waits, longest = [after - before for before, after in pairwise(times)], LONGEST_WAIT
    while sum(min(wait, longest) for wait in waits) > LONGEST_COMMAND:
        longest *= 0.95
    return [(min(wait, longest), text) for wait, text in zip(waits, texts, strict=True)]


def screens_of(commands: Iterable[str], settings: Mapping[str, str]) -> dict[int, list[str]]:
    """Type commands at a prompt; return all rows that are there after each step, as SVG."""
    parts = [(0.0, PROMPT)]
    for command in commands:
        words = re.findall(r"\S+\s*", command)
        parts += [(LONGEST_WAIT, words[0]), *((STEP, word) for word in [*words[1:], "\r\n"])]
        parts += [*record(command, settings), (0.0, PROMPT)]
    seconds, whole, written = 0.0, "", {}
    for wait, text in parts:
        seconds, whole = seconds + wait, whole + text
        written[round(seconds / STEP)] = whole
    if unknown := UNKNOWN.search(whole):
        raise ValueError(f"This terminal does not know {unknown[0]!r}.")
    return {
        step: [row for line in text.split("\n") for row in _rows(line)]
        for step, text in written.items()
    }


@cache
def _rows(line: str) -> list[str]:
    """Return the rows that a line takes: more than one if it is wider than the terminal."""
    cells, colour = [], ""
    for code, character in TOKEN.findall(line.rstrip("\r").rpartition("\r")[2]):
        if unicodedata.east_asian_width(character or " ") in "WF":
            cells += [("wide", character), ("wide", "")]
        elif character:
            cells.append((colour, character))
        else:
            colour = COLOURS.get(code, "")
    return [_row(cells[at : at + COLUMNS]) for at in range(0, max(1, len(cells)), COLUMNS)]


def _row(cells: list[tuple[str, str]]) -> str:
    row = ""
    for name, same in groupby(cells, lambda cell: cell[0]):
        text = escape("".join(character for _, character in same), quote=False)
        row += f'<tspan class="{name}">{text}</tspan>' if name else text
    return row


def svg(screens: dict[int, list[str]], commands: Iterable[str]) -> str:
    """Return a picture that plays screens, stands still at the end, and begins again.

    All rows are below each other, each seen in its time, and go up once the screen is full. What
    is there without an animation is the end, for those who want no motion.
    """
    steps = max(screens) + round(END / STEP)
    at = {step: f"{100 * step / steps:.2f}%" for step in (*screens, steps)}
    ups: dict[int, str] = {}
    for step, rows in screens.items():
        up = max(0, len(rows) - ROWS) * HEIGHT
        ups.setdefault(up, f"{at[step]}{{transform:translateY(-{up}px)}}")
    animations, texts = {"up": "".join(ups.values())}, []
    for number, shown in enumerate(zip_longest(*screens.values(), fillvalue="")):
        same = groupby(zip(screens, shown, strict=True), lambda each: each[1])
        changes = [next(each) for _, each in same]
        for (begin, text), (end, _) in pairwise([*changes, (steps, "")]):
            if text:
                name, seen, hidden = f"s{begin}", f"{at[begin]}{{visibility:visible}}", ""
                if end != steps:
                    name += f"-{end}"
                    seen += f"{at[end]}{{visibility:hidden}}"
                    hidden = ' visibility="hidden"'
                animations[name] = f"0%{{visibility:hidden}}{seen}"
                y = number * HEIGHT + 13
                texts.append(f'<text y="{y}"{hidden} style="animation-name:{name}">{text}</text>')
    return SVG.format(
        commands=escape("; ".join(commands), quote=False),
        seconds=steps * STEP,
        animations="\n".join(f"@keyframes {name}{{{rule}}}" for name, rule in animations.items()),
        height=ROWS * HEIGHT + 24,
        screen=ROWS * HEIGHT,
        up=max(ups),
        texts="\n".join(texts),
    )


if __name__ == "__main__":
    # The make that is recorded knows nothing of one that runs this.
    settings = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    settings |= {"VIRTUAL_ENV": sys.prefix, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    settings |= {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm"}
    settings["LAKEHOUSE_KEEP_WARM"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        settings["LAKEHOUSE_DIR"] = f"{folder}/lakehouse"
        RECORDING.write_text(svg(screens_of(COMMANDS, settings), COMMANDS))
