"""The pictures of docs/images: how a terminal is recorded, and that pages show what is there.

No command of the lakehouse runs here.
"""

import importlib.util
import os
import re
import shlex
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from conftest import PROJECT

from cdc_lakehouse.console import cli

SVG = "{http://www.w3.org/2000/svg}"
LINK = re.compile(r"\]\(([^)\s]*images/[^)\s]+)\)")
PRINTS = "printf '<b> & 1\\n\\033[32mOK\\033[0m, \\033[31mno\\033[0m é\\n\\n  北京|\\n'"
REWRITES = (
    "printf '1 of 2'; sleep 0.4; printf '\\r\\033[K2 of 2'; sleep 2; printf '\\r\\033[Kdone\\n'"
)


def load(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", PROJECT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def recording():
    return load("recording")


def play(recording, *commands):
    return recording.svg(recording.screens_of(commands, os.environ), commands)


def rows(picture, at_end=True):
    """Return what a picture shows at its end, or what it showed before, from the top down."""
    texts = ElementTree.fromstring(picture).iter(f"{SVG}text")
    found = [each for each in texts if (each.get("visibility") != "hidden") == at_end]
    assert [int(each.get("y")) for each in found] == sorted(int(each.get("y")) for each in found)
    return ["".join(each.itertext()) for each in found]


def test_what_is_printed_is_text_in_its_colours(recording):
    picture = play(recording, PRINTS)
    assert rows(picture) == [f"$ {PRINTS}", "<b> & 1", "OK, no é", "  北京|", "$ "]
    spans = ElementTree.fromstring(picture).iter(f"{SVG}tspan")
    named = [(each.get("class"), each.text) for each in spans]
    for each in (("green", "OK"), ("red", "no"), ("wide", "北京")):
        assert each in named and f".{each[0]} {{" in picture


def test_a_line_is_as_wide_as_the_terminal(recording):
    written = rows(play(recording, "stty size; printf '%0101d\\n' 7"))
    assert written[1:] == ["30 100", "0" * 100, "7", "$ "]


def test_a_line_that_is_rewritten_ends_with_its_last_text(recording):
    picture = play(recording, REWRITES)
    assert rows(picture)[-2:] == ["done", "$ "]
    assert [row for row in rows(picture, at_end=False) if row[0] != "$"] == ["1 of 2", "2 of 2"]


def test_a_picture_is_text_alone_and_moves_for_those_who_want_it(recording):
    picture = play(recording, PRINTS, "seq 40")
    root = ElementTree.fromstring(picture)
    used = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert used == {"svg", "title", "desc", "style", "rect", "g", "text", "tspan"}
    assert not re.search(r"href|url\(|@import|@font-face|data:|\bon\w+=", picture)
    assert all(root.findtext(f"{SVG}{name}") for name in ("title", "desc"))
    style = root.findtext(f"{SVG}style")
    before, asked, after = style.partition("@media (prefers-reduced-motion: no-preference) {")
    assert asked and "animation" not in before and "animation:" in after
    names = set(re.findall(r"animation-name:([\w-]+)", picture))
    assert names == set(re.findall(r"@keyframes ([\w-]+)", style))
    # Without an animation it is at its end, whose last row is the lowest of the screen.
    (moved,) = root.iter(f"{SVG}g")
    lowest = max(int(each.get("y")) for each in moved)
    up = int(re.fullmatch(r"translate\(0 -(\d+)\)", moved.get("transform"))[1])
    assert lowest - up == (recording.ROWS - 1) * recording.HEIGHT + 13
    assert f"{{transform:translateY(-{up}px)}}}}" in style


def test_no_wait_is_long(recording, monkeypatch):
    waits = "for n in 1 2 3 4 5 6; do echo $n; sleep 0.3; done"
    steps = [*recording.screens_of([REWRITES, waits], os.environ)]
    longest = max(after - before for before, after in pairwise(steps))
    assert longest * recording.STEP == recording.LONGEST_WAIT
    monkeypatch.setattr(recording, "LONGEST_COMMAND", 0.5)
    parts = recording.record(waits, os.environ)
    assert "".join(text for _, text in parts) == "".join(f"{n}\r\n" for n in range(1, 7))
    assert 0.4 < sum(wait for wait, _ in parts) <= 0.5


def test_the_same_output_is_the_same_picture(recording, monkeypatch):
    # An escape may come in two parts.
    written = [(0.1, "\x1b[3"), (0.3, "2mOK\x1b[0m\r\n"), (1.5, "\r\x1b[Kend\r\n")]
    monkeypatch.setattr(recording, "record", lambda command, settings: written)
    picture = play(recording, "true")
    assert rows(picture) == ["$ true", "OK", "end", "$ "]
    assert play(recording, "true") == picture


def test_what_would_be_shown_wrongly_is_refused(recording):
    with pytest.raises(ValueError, match=r"does not know '\\x1b\[2J"):
        play(recording, "printf 'one\\033[2J'")
    with pytest.raises(SystemExit, match=r"`echo why; exit 3` ended with 3:\nwhy"):
        play(recording, "echo why; exit 3")


def test_what_is_recorded_can_be_typed(recording):
    make, query = map(shlex.split, recording.COMMANDS)
    assert re.search(rf"^{make[1]}:", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    assert cli._parser().parse_args(query[1:]).run
    assert "python docs/recording.py\n" in (PROJECT / "Makefile").read_text()


def test_pages_show_the_pictures_that_are_there():
    pages = [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")]
    shown = {
        (page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text())
    }
    assert shown == {*(PROJECT / "docs" / "images").iterdir()}
    # And the site of the pages takes them.
    patterns = load("pages").MORE
    assert shown <= {path for pattern in patterns for path in PROJECT.glob(pattern)}
