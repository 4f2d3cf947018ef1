"""The site that `make docs` writes: its links lead to pages, and a browser can click through it."""

import json
import re
import shlex
from urllib.parse import unquote

import pytest
from browser import open_browser
from conftest import PROJECT
from dbt.cli.main import dbtRunner
from silver_models import FORMATS, MODELS, TWINS

pytestmark = pytest.mark.full

SOURCES = PROJECT / "src" / "cdc_lakehouse"
LINK = re.compile(r"\]\(([^)\s]+)\)")
# dbt's page opens the lineage where it is loaded, so each link has an address of its own before #.
LINEAGE = re.compile(r"\?\w+#!/overview\?g_v=1&g_i=[^)\s]+")
# The groups and the names of the colors that the overview gives them.
COLORS = {"formats": "blue", "change_log": "grey", "observability": "purple", "gold": "gold"}
# What dbt's page itself asks for beside its address, before its templates are filled in.
OF_DBT = ("getIcon(item.type,", "require('./assets/favicons/favicon.ico')")
# The names of the nodes in the lineage that is open.
NODES = """() => angular.element(document.body).injector().get("graph").graph.elements
    .filter(element => element.group === "nodes").map(element => element.data.name).sort()"""
# The names of the nodes that a selection takes, as `--select` of the lineage does.
SELECTED = """include => {
    const get = angular.element(document.body).injector().get
    const { dag, nodes } = get("graph").graph.pristine
    const options = { ...get("selectorService").selection.clean, include, exclude: "" }
    const { selected } = get("selectorService").selectNodes(dag, nodes, options)
    return selected.map(name => nodes[name].data.name).sort()
}"""
# Whether the lineage that is open has pixels of a color.
IS_DRAWN = """([red, green, blue]) => [...document.querySelectorAll("canvas")].some(canvas => {
    if (!canvas.width || !canvas.height) return false
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
    for (let at = 0; at < data.length; at += 4) {
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) return true
    }
    return false
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as the recipe of `make docs` writes it, but without asking Spark for anything."""
    folder = tmp_path_factory.mktemp("site")
    makefile = (PROJECT / "Makefile").read_text()
    [typed] = re.findall(r"^docs:.*\n\tdbt (docs generate .*)$", makefile, re.MULTILINE)
    generate = [*shlex.split(typed), "--empty-catalog", "--no-compile"]
    assert "static_index.html" in makefile
    assert generate[generate.index("--target-path") + 1] == "target/docs"
    target = ["--target", "docs", "--target-path", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        patch.setenv("LAKEHOUSE_DIR", str(folder / "lake"))
        patch.setenv("DBT_LOG_PATH", str(folder / "logs"))
        for arguments in (["parse", *target], [*generate, *target]):
            done = dbtRunner().invoke(["--quiet", *arguments])
            assert done.success, done.exception
    return folder / "static_index.html"


@pytest.fixture(scope="module")
def manifest(site):
    return json.loads(site.with_name("manifest.json").read_text())


@pytest.fixture(scope="module")
def overview(manifest):
    return manifest["docs"]["doc.cdc_lakehouse.__overview__"]["block_contents"]


def _nodes(manifest):
    kinds = ("nodes", "sources", "exposures")
    return {name: node for kind in kinds for name, node in manifest[kind].items()}


def test_every_link_leads_to_a_page_of_the_site_or_to_the_web(manifest, overview):
    pages = {f"#!/{name.split('.')[0]}/{name}" for name in _nodes(manifest)}
    texts = {"overview": overview}
    for name, node in _nodes(manifest).items():
        texts[name] = " ".join(
            each["description"] for each in (node, *node.get("columns", {}).values())
        )
    links = [(name, link) for name, text in texts.items() for link in LINK.findall(text)]
    assert len([link for name, link in links if link in pages]) > len(FORMATS)
    dead = [link for link in links if link[1] not in pages and not link[1].startswith("https://")]
    assert [link for link in dead if not LINEAGE.fullmatch(link[1])] == []


def test_the_overview_says_what_readme_and_the_glossary_say(overview):
    readme = (PROJECT / "README.md").read_text()
    table = re.search(r"^## Formats\n\n((?:\|.*\n)+)", readme, re.MULTILINE)[1]
    page = re.compile(r"\(models/silver/(\w+)/_\1\.md\)")

    def link(found):
        return f"(#!/model/model.cdc_lakehouse.{TWINS.get(found[1], found[1])})"

    assert page.sub(link, table) in overview
    assert sorted(page.findall(table)) == FORMATS
    glossary = (PROJECT / "docs" / "glossary.md").read_text()
    terms = overview.partition("| term | meaning here |\n|---|---|\n")[2].splitlines()
    assert len(terms) > 10
    assert [line for line in terms if f"\n{line} " not in glossary] == []


def test_every_model_has_a_group_with_an_owner_and_the_color_of_its_group(manifest, overview):
    groups = {group["name"]: group["owner"]["name"] for group in manifest["groups"].values()}
    assert groups.keys() == COLORS.keys() and all(groups.values())
    models = [node for node in manifest["nodes"].values() if node["resource_type"] == "model"]
    colors = {(node["group"], node["docs"]["node_color"]) for node in models}
    assert {group for group, _ in colors} == groups.keys()
    assert len(colors) == len(groups)
    for group, name in COLORS.items():
        link = f"[{group.replace('_', ' ')}](?{group}#!/overview?g_v=1&g_i=group:{group})"
        assert f"| {link} | {name} |" in overview
    # The same in projects of users, for their tables and formats.
    colors = dict(colors)
    template = SOURCES / "format_template" / "models" / "silver" / "my_format" / "_my_format.yml"
    assert f'group: formats, docs: {{node_color: "{colors["formats"]}"}}' in template.read_text()
    project = (SOURCES / "project_template" / "dbt_project.yml").read_text()
    assert f'+group: gold\n      +docs: {{node_color: "{colors["gold"]}"}}' in project


class Reader:
    """Someone who has opened the site in a browser and clicks."""

    def __init__(self, browser, site):
        self.page = browser.new_page(viewport={"width": 1280, "height": 800})
        self.errors, self.requests = [], set()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.add(unquote(request.url)))
        self.page.goto(site.as_uri())
        self.overview()

    def _note(self, message):
        said = unquote(f"{message.text} {message.location['url']}")
        if message.type == "error" and not any(text in said for text in OF_DBT):
            self.errors.append(said)

    def overview(self):
        """Go to the overview by a click on the logo."""
        self.page.get_by_alt_text("dbt logo").click()
        self.page.get_by_role("heading", name="cdc_lakehouse").wait_for()

    def follow(self, link):
        """Click a link of the page, by its address."""
        self.page.locator(f'[ui-view] a[href="{link}"]').locator("visible=true").first.click()

    def open(self, link):
        """Go to a page by its address."""
        self.page.evaluate("link => { location.hash = link }", link)

    def title(self, name):
        """Wait for the page of a model, a source or an exposure."""
        self.page.locator("h1:visible", has_text=re.compile(rf"^\s*{name}\s")).wait_for()

    def lineage(self):
        """Return the names of the nodes of the lineage, once it is open."""
        self.page.get_by_text("Lineage Graph", exact=True).wait_for()
        self.page.wait_for_function(f"({NODES})().length > 0")
        return self.page.evaluate(NODES)

    def close_lineage(self):
        self.page.locator("[ng-click='closeGraph()']").locator("visible=true").first.click()
        self.page.get_by_text("Lineage Graph", exact=True).wait_for(state="hidden")


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def reader(browser, site):
    return Reader(browser, site)


def test_each_format_shows_its_page(reader):
    for name in MODELS:
        reader.open(f"#!/model/model.cdc_lakehouse.{name}")
        reader.title(name)
        page = reader.page.locator("#description + .section-content")
        page.get_by_text("Written by", exact=True).first.wait_for()
        read = [name, *(twin for twin, model in TWINS.items() if model == name)]
        silver = PROJECT / "models" / "silver"
        source = "\n".join((silver / each / f"_{each}.md").read_text() for each in read)
        headings = re.findall(r"^\*\*(.+?)\*\*", source, re.MULTILINE)
        shown = page.locator("strong").all_inner_texts()
        assert [heading for heading in headings if heading not in shown] == []
        rows = len(re.findall(r"^\| ", source, re.MULTILINE))
        assert page.locator("table tr").count() == rows
        assert page.locator("pre").count() >= 1
        text = page.inner_text()
        assert not [left for left in ("{%", "{{", "](", "**", "|---|") if left in text], name


def test_links_of_the_overview_lead_to_tables_and_sources(reader, overview):
    links = sorted({*re.findall(r"#!/(?:model|source)/[\w.]+", overview)})
    names = [link.rpartition(".")[2] for link in links]
    assert {"messages", "events", "row_images", "message_accounting", *MODELS} < {*names}
    for link, name in zip(links, names, strict=True):
        if name not in MODELS[1:]:
            reader.overview()
            reader.follow(link)
            reader.title(rf"(bronze\.)?{name}")


def test_links_of_the_overview_open_parts_of_the_lineage(reader, overview, manifest):
    selections = {link: unquote(link.partition("g_i=")[2]) for link in LINEAGE.findall(overview)}
    shown = {link: reader.page.evaluate(SELECTED, text) for link, text in selections.items()}
    models = [node for node in manifest["nodes"].values() if node["resource_type"] == "model"]
    for group in COLORS:
        members = sorted(node["name"] for node in models if node["group"] == group)
        assert shown[f"?{group}#!/overview?g_v=1&g_i=group:{group}"] == members
    for name in manifest["exposures"]:
        [names] = [
            n
            for link, n in shown.items()
            if link.endswith(f"g_i=1%2B{name.replace('.cdc_lakehouse.', ':')}")
        ]
        assert name.rpartition(".")[2] in names and "message_accounting" in names
    # A click on one of them: each loads the page again.
    [way] = [link for link, names in shown.items() if {"messages", "dts_canal"} <= {*names}]
    assert {"events", "row_images", "orders", "gold_problems", "lakehouse_report"} < {*shown[way]}
    reader.overview()
    reader.follow(way)
    assert reader.lineage() == shown[way]
    reader.close_lineage()


def test_the_whole_lineage_is_drawn_without_unit_tests(reader, manifest):
    reader.overview()
    reader.page.locator("[ng-click='onLauncherClick()']").click()
    names = reader.lineage()
    assert {"messages", *MODELS, "events", "orders", "lakehouse_metrics"} < {*names}
    assert not [name for name in names if "__" in name]
    models = [node for node in manifest["nodes"].values() if node["resource_type"] == "model"]
    for color in {node["docs"]["node_color"] for node in models}:
        reader.page.wait_for_function(IS_DRAWN, arg=[*bytes.fromhex(color[1:])])
    reader.close_lineage()


def test_an_exposure_names_what_it_reads(reader):
    reader.overview()
    tree = reader.page.locator("model-tree")
    tree.get_by_text("Dashboard", exact=True).click()
    report = '[data-nav-unique-id="exposure.cdc_lakehouse.lakehouse_report"]'
    tree.locator(report).locator("visible=true").click()
    reader.title("lakehouse report")
    reader.page.get_by_text("A page for a person").wait_for()
    for name in ("message_accounting", "schema_drift", "table_accounting"):
        reader.page.locator("#depends_on + .section-content").get_by_text(
            name, exact=True
        ).wait_for()


def test_the_search_finds_a_format(reader):
    reader.overview()
    reader.page.get_by_placeholder("Search for models...").fill("dts_canal")
    found = reader.page.locator(".search-result h4", has_text=re.compile(r"^\s*dts_canal\s"))
    found.click()
    reader.title("dts_canal")


def test_nothing_is_an_error_and_nothing_comes_from_elsewhere(reader, site):
    """Of all that the tests above have clicked."""
    reader.overview()
    assert reader.errors == []
    asked = {url.partition("?")[0] for url in reader.requests if not url.startswith("data:")}
    assert {url for url in asked if not any(text in url for text in OF_DBT)} == {site.as_uri()}
