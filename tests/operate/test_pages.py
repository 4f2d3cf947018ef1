"""The site of the pages, as `make docs` writes it: complete, and with nothing from elsewhere."""

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from browser import open_browser
from conftest import PROJECT

pytestmark = pytest.mark.full

DOCS = PROJECT / "docs"
LISTED = [
    path for paths in yaml.safe_load((DOCS / "pages.yml").read_text()).values() for path in paths
]
TASKS = ["Start", "Land", "Read silver", "Model gold", "Operate", "Extend", "Reference"]
FORMATS = sorted(path.stem.lstrip("_") for path in PROJECT.glob("models/silver/*/_*.md"))
# What a page takes in, other than by a link that a reader clicks.
TAKEN = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)="([^"]+)"')


def build(project, folder):
    """Run what the recipe of `make docs` types."""
    makefile = (PROJECT / "Makefile").read_text()
    (typed,) = re.findall(r"^docs:.*\n(?:\t.*\n)*?\tmkdocs (.*)$", makefile, re.MULTILINE)
    command = [sys.executable, "-m", "mkdocs", *shlex.split(typed), "--site-dir", str(folder)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    done = build(PROJECT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def written(site):
    """The text of each page, by its address in the site."""
    return {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}


def test_every_page_of_the_repository_is_on_the_site(written):
    assert {path.name for path in DOCS.glob("*.md")} == {
        path.removeprefix("docs/")
        for path in LISTED
        if path.startswith("docs/") and path.count("/") == 1
    }
    for name in LISTED:
        page = re.sub(r"README\.md$", "index.md", name).removesuffix(".md")
        assert "*" in name or f"{page}.html" in written
    for path in (DOCS / "decisions").glob("0*.md"):
        assert f"docs/decisions/{path.stem}.html" in written
    for name in FORMATS:
        page = written[f"models/silver/{name}/_{name}.html"]
        assert f">{name}</h1>" in page and "<strong>Written by</strong>" in page
        assert "{%" not in page.partition('role="main"')[2]


def test_the_navigation_goes_from_task_to_task(written):
    page = written["docs/gold.html"]
    assert re.findall(r'class="caption-text">([^<]+)<', page) == TASKS
    begin = [page.index(f'href="{name}"') for name in ("start.html", "running.html", "tables.html")]
    assert begin == sorted(begin)


def test_no_list_is_left_as_text(written):
    """Markdown of the repository begins lists without an empty line; mkdocs needs one."""
    for name, page in written.items():
        for paragraph in re.findall(r"<p>(.*?)</p>", page.partition('role="main"')[2], re.DOTALL):
            assert not re.search(r"\n- |^\||\n```", unescape(paragraph)), (name, paragraph)
    assert "<li>" in written["models/silver/canal/_canal.html"].partition('role="main"')[2]


def test_a_list_gets_room_and_code_is_left_alone():
    spec = importlib.util.spec_from_file_location("pages_hook", DOCS / "pages.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    code = "```diff\n line\n- gone\n```"
    text = f"**Losses**\n- one\n  goes on\n- two\n\n- three\n{code}\nEnd\n- four"
    assert hook.with_room_for_lists(text) == (
        f"**Losses**\n\n- one\n  goes on\n- two\n\n- three\n{code}\nEnd\n\n- four"
    )


def test_a_dead_link_fails_the_build(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(PROJECT / name, project)
    for name in ("docs", "models", "bench", "deploy"):
        left_out = shutil.ignore_patterns("*.sql", "*.jsonl", ".work", "__pycache__")
        shutil.copytree(PROJECT / name, project / name, ignore=left_out)
    with open(project / "docs" / "gold.md", "a") as page:
        page.write("\n[a](nowhere.md) [b](tables.md#nowhere) [c](../deploy/nowhere)\n")
    done = build(project, tmp_path / "site")
    assert done.returncode == 1
    for link in ("nowhere.md", "tables.md#nowhere", "../deploy/nowhere"):
        assert re.search(rf"^WARNING .*'docs/gold.md' .*'{link}'", done.stderr, re.MULTILINE)
    assert len(re.findall(r"^WARNING ", done.stderr, re.MULTILINE)) == 3


def test_nothing_is_taken_from_elsewhere(site, written):
    taken = {link for page in written.values() for link in TAKEN.findall(page)}
    assert len(taken) > 5
    assert [link for link in taken if re.match(r"(\w+:)?//", link)] == []
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:\w+:)?//[^)]*|@import[^;]*", styles) == []


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *arguments):
        pass


def test_the_search_finds_a_page_and_asks_nobody_else(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        with open_browser() as browser:
            page = browser.new_page()
            errors, requests = [], set()
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: requests.add(request.url))
            page.goto(f"{address}/docs/start.html")
            page.get_by_placeholder("Search docs").fill("Datastream")
            page.keyboard.press("Enter")
            page.locator("#mkdocs-search-results article h3").first.wait_for()
            found = page.locator("#mkdocs-search-results article h3 a")
            links = found.evaluate_all("links => links.map(link => link.getAttribute('href'))")
            assert any("datastream_json" in link for link in links)
            found.first.click()
            page.locator("[role=main] h1").wait_for()
    finally:
        server.shutdown()
        server.server_close()
    assert errors == []
    assert {url for url in requests if not url.startswith(f"{address}/")} == set()
    # What it searches has the words of a page.
    index = json.loads((site / "search" / "search_index.json").read_text())
    assert any(each["location"].startswith("docs/gold.html") for each in index["docs"])
