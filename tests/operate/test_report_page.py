"""The page of `lakehouse report`, as a browser shows it from a file."""

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
import report_facts
from browser import open_browser
from playwright.sync_api import expect
from report_facts import HOSTILE, MASKED, NOW, SECRET

from cdc_lakehouse.report.facts import Run, RunStep, Stored
from cdc_lakehouse.report.gold import BehindTable, Gold
from cdc_lakehouse.report.page import page as page_of

pytestmark = pytest.mark.full

SECTIONS = (
    *("overview", "topics", "results", "lag", "rejected", "drift", "gold", "runs", "storage"),
)
LIGHT, DARK = {"landed": (47, 134, 176)}, {"landed": (74, 159, 202)}
DASH = "\u2013"
CONTRAST = 4.5  # what WCAG asks of text at level AA

# The contrast of each text with what is behind it, the lowest first.
CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const mixed = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const light = (colour) => colour
    .map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    const found = [];
    for (let at = element; at; at = at.parentElement)
      found.unshift(getComputedStyle(at).backgroundColor);
    return found;
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility() || element.disabled) continue;
    if (["SCRIPT", "NOSCRIPT"].includes(element.tagName)) continue;
    const grounds = behind(element);
    const pair = [mixed([...grounds, getComputedStyle(element).color]), mixed(grounds)].map(light);
    const [high, low] = pair.sort((one, other) => other - one);
    found.push([(high + 0.05) / (low + 0.05), texts.currentNode.data.slice(0, 40)]);
  }
  return found.sort(([one], [other]) => one - other);
}"""

# How many pixels of the first chart inside have this colour.
PIXELS = """(element, [red, green, blue]) => {
  const canvas = element.querySelector("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    count += data[at] === red && data[at + 1] === green && data[at + 2] === blue;
  return count;
}"""


UNFOLD = "document.querySelectorAll('.fold').forEach((fold) => { fold.open = true; })"


@dataclass
class Opened:
    """A page in the browser, with what it said on the console and what it asked for."""

    page: object
    address: str
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.page, name)

    def column(self, section, label):
        """The texts of a column of the first table of a section."""
        table = self.page.locator(f"#{section} table").first
        table.wait_for()
        labels = [re.sub(r"\W+$", "", text) for text in table.locator("thead th").all_inner_texts()]
        place = labels.index(label) + 1
        rows = table.locator(f"tbody tr:not(.detail) > :nth-child({place})")
        return [text.strip() for text in rows.all_inner_texts()]

    def text(self, section):
        return self.page.locator(f"#{section}").inner_text()

    def elements(self):
        return self.page.locator("*").count()

    def click_all(self, selector):
        self.page.locator(selector).evaluate_all("(found) => found.forEach((one) => one.click())")


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@contextmanager
def opener(browser, folder):
    """Yield a function that opens the page of facts and findings, or the text of a page.

    All of them open in one tab, one after the other.
    """
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    file = folder / "page.html"
    opened = Opened(page, file.as_uri())
    page.on("console", lambda message: opened.said.append(message.text))
    page.on("pageerror", lambda error: opened.said.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))

    def open_page(facts, findings=(), at=NOW, color_scheme="light", unfold=True):
        text = facts if isinstance(facts, str) else page_of(facts, findings)
        file.write_text(text, encoding="utf-8")
        opened.said.clear()
        opened.requests.clear()
        page.emulate_media(media="screen", color_scheme=color_scheme)
        page.set_viewport_size({"width": 1400, "height": 900})
        page.clock.set_fixed_time(at)
        page.goto(file.as_uri())
        if unfold:
            page.evaluate(UNFOLD)
        return opened

    yield open_page
    page.close()


@pytest.fixture(scope="module")
def show(browser, tmp_path_factory):
    with opener(browser, tmp_path_factory.mktemp("shown")) as open_page:
        yield open_page


@pytest.fixture
def typical(show):
    """A page to click on."""
    return show(report_facts.typical(), report_facts.findings())


@pytest.fixture(scope="module")
def seen(browser, tmp_path_factory):
    """A page for all tests that only look."""
    with opener(browser, tmp_path_factory.mktemp("seen")) as open_page:
        yield open_page(report_facts.typical(), report_facts.findings())


@pytest.fixture(scope="module")
def huge():
    return page_of(*report_facts.huge())


def drawn(opened, section, colour):
    """Wait until the first chart of a section shows a colour; return how many pixels of it."""
    section = opened.locator(section).first
    expect(section.locator("canvas").first).to_be_visible()
    # A chart draws in the next frame.
    for _ in range(100):
        if (count := section.evaluate(PIXELS, list(colour))) > 200:
            break
        opened.wait_for_timeout(20)
    return count


def test_the_page_asks_for_nothing_and_reports_no_error(show):
    for facts in (report_facts.empty(), report_facts.typical(), report_facts.with_values()):
        opened = show(facts, report_facts.findings())
        opened.wait_for_load_state("networkidle")
        assert opened.requests == [opened.address]
        assert opened.said == []
        for section in SECTIONS:
            assert opened.locator(f"#{section}-body").inner_text().strip(), section


def test_the_headline_says_whether_there_is_something_to_look_at(show):
    typical, findings = report_facts.empty(), report_facts.findings()
    broken = replace(typical, problems=("gold.orders: its log is damaged.",))
    for facts, found, headline in (
        (typical, (), "All is well"),
        (typical, findings[:1], "1 thing to look at"),
        (typical, findings, "3 things to look at"),
        (broken, (), "This report is incomplete"),
        (broken, findings, "3 things to look at"),
    ):
        opened = show(facts, found)
        assert opened.locator("h1").inner_text() == headline
        assert opened.title() == f"new: {headline}"
        assert ("its log is damaged" in opened.text("overview")) == bool(facts.problems)
        assert opened.locator(".findings li").count() == len(found)


def test_the_overview_has_the_figures_of_the_whole(seen):
    figures = re.sub(r"\s+", " ", seen.locator(".figures").inner_text())
    assert figures == (
        "Topics 6 9 partitions Messages 271,028 264,569 row changes Rejected 879 0.32% of the "
        "messages Waiting 4,100 messages to be processed Gold tables 3 173,196 rows"
    )
    assert seen.locator("header").inner_text().split("\n")[-1] == (
        "2026-11-28 12:00:00 UTC · cdc_lakehouse 0.1.0"
    )


def test_the_first_line_stands_above_all_and_the_rest_is_folded(show):
    facts = replace(
        report_facts.typical(),
        gold=Gold(3, as_of=NOW - 60, behind=(BehindTable("pay\u202ements", NOW - 86400),), held=2),
    )
    opened = show(facts, report_facts.findings(), unfold=False)
    assert opened.locator("main").inner_text().splitlines()[0].lower() == (
        "gold is as of 11:59 utc, 3 of 3 tables built, 1 table behind silver "
        r"(pay\u202ements as of 2026-11-27 12:00 utc), 2 rows held, 879 messages rejected, "
        "4,100 messages not processed yet"
    )
    assert [opened.locator(f"#{name}-body").is_visible() for name in SECTIONS] == [
        *(True, False, False, False, False, False, False, False, False)
    ]
    opened.locator("nav").get_by_role("link", name="Gold").click()
    expect(opened.locator("#gold-body")).to_be_visible()
    opened.get_by_role("button", name="shop.payments/1").click()
    expect(opened.locator("#topics-body")).to_be_visible()
    opened.emulate_media(media="print")
    expect(opened.locator("#storage-body")).to_be_visible()
    opened.emulate_media(media="screen")
    expect(opened.locator("#storage-body")).not_to_be_visible()
    expect(opened.locator("#gold-body")).to_be_visible()


def test_a_chart_of_less_than_three_points_is_a_sentence(show):
    facts = report_facts.typical()
    for spans, is_drawn in ((2, False), (3, True)):
        opened = show(replace(facts, arrivals=report_facts.arrivals(facts.partitions, spans)))
        assert opened.locator("#topics .canvas").first.is_visible() == is_drawn
        assert f"landed in {spans} spans of 1 h" in opened.text("topics")


def test_an_archive_has_the_age_of_its_newest_change_in_place_of_a_delay(show):
    facts = report_facts.typical()
    parts = [replace(p, is_archive=p.topic == "crm.notes") for p in facts.partitions]
    opened = show(replace(facts, partitions=tuple(parts)))
    delays, ages = (opened.locator("#lag table").nth(place) for place in (0, 1))
    assert "crm.notes" not in delays.inner_text()
    (row,) = ages.locator("tbody tr").all_inner_texts()
    assert row.split("\t")[:3] == ["crm.notes", "0", "23 h 53 min"]
    assert opened.column("topics", "Delay")[0] == DASH


def test_empty_tables_that_the_lakehouse_keeps_for_itself_are_left_out(show):
    tables = (Stored("bronze.offset_gaps", 0, 0, 0), Stored("gold_storage.payments", 0, 0, 0))
    opened = show(replace(report_facts.typical(), stored=tables))
    assert opened.column("storage", "Table") == ["gold_storage.payments"]


def test_a_page_that_fails_says_so(show):
    opened = show(page_of(report_facts.empty(), ()).replace('"facts":[', '"facts":[['))
    assert "This page cannot show all of its figures: Uncaught" in opened.text("overview")


def test_a_browser_that_tells_a_size_in_its_next_frame_is_no_failure(seen):
    """The page is shared: nothing is left on it."""
    told = "ResizeObserver loop completed with undelivered notifications."
    seen.evaluate("(message) => dispatchEvent(new ErrorEvent('error', { message }))", told)
    assert "ResizeObserver" not in seen.text("overview")


def test_an_old_page_says_how_old_it_is(show):
    opened = show(report_facts.typical(), at=NOW + 7200)
    assert "(2 h old)" in opened.locator("header").inner_text()


def test_a_chart_shows_the_messages_in_the_colours_of_the_theme(show):
    for scheme, colours in (("light", LIGHT), ("dark", DARK)):
        opened = show(report_facts.typical(), color_scheme=scheme)
        assert drawn(opened, "#topics", colours["landed"]) > 5_000
    opened.emulate_media(color_scheme="light")
    assert drawn(opened, "#topics", LIGHT["landed"]) > 5_000


def test_a_chart_says_its_numbers(typical):
    label = typical.locator("#topics [role=img]").get_attribute("aria-label")
    arrivals = report_facts.typical().arrivals
    landed, rejected = sum(a.messages for a in arrivals), sum(a.rejected for a in arrivals)
    assert f"{landed:,} messages landed in 48 spans of 1 h, {rejected} rejected" in label
    typical.get_by_text("Numbers of this chart").click()
    table = typical.locator("#topics .chart details table")
    first = sum(a.messages for a in arrivals if a.began == arrivals[0].began)
    assert table.locator("tbody tr").first.inner_text().split("\t") == [
        *(f"26 Nov 12:00{DASH}13:00", f"{first:,}", "0")
    ]


def test_times_are_ages_with_the_moment_on_hover(seen):
    row = seen.locator("#topics tbody tr", has_text="shop.payments").first
    cells = row.locator("td")
    assert cells.all_inner_texts()[-5:] == [
        "31 s ago",
        "31 s ago",
        "30 s ago",
        "30 s ago",
        "5.8 s",
    ]
    # Produced half a second later than committed: a moment has no milliseconds.
    titles = {cells.nth(place).get_attribute("title") for place in (5, 6)}
    assert titles == {"2026-11-28 11:59:29 UTC"}
    assert seen.column("topics", "Delay")[:4] == ["1 h 25 min", DASH, DASH, "8 min"]


def test_a_topic_has_a_row_that_adds_its_partitions_up(seen):
    assert seen.locator("#topics tbody tr").count() == 6
    row = seen.locator("#topics tbody tr", has_text="shop.payments").inner_text()
    assert row.split("\t")[1:] == [
        *("dts_avro", "61,707", "0", "0", "93"),
        *("31 s ago", "31 s ago", "30 s ago", "30 s ago", "5.8 s"),
    ]


def test_partitions_unfold_beneath_their_topic_and_stay_there(typical):
    topic = "shop.orders 3 partitions"
    up = ["Partition 0", "Partition 1", "Partition 2"]
    button = typical.get_by_role("button", name="Details of shop.orders, 3 partitions")
    button.press("Enter")
    controlled = button.get_attribute("aria-controls").split()
    assert [typical.locator(f"#{row} th").inner_text() for row in controlled] == up
    for order in (up[::-1], up):
        typical.locator("#topics").get_by_role("button", name="Messages", exact=True).click()
        names = typical.column("topics", "Topic")
        at = names.index(topic)
        assert names[at : at + 4] == [topic, *order]
    typical.get_by_role("button", name="Details of shop.orders, partition 1").click()
    assert typical.locator("#topics .detail").count() == 1
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "false"
    assert len(typical.column("topics", "Topic")) == 6
    assert typical.locator("#topics .detail").count() == 0
    assert typical.evaluate("document.activeElement.ariaExpanded") == "false"


def test_a_filter_chooses_the_topics_of_table_and_chart(typical):
    filter_box = typical.get_by_label("Filter by topic or format")
    filter_box.fill("PAYM")
    assert typical.column("topics", "Topic")[0].startswith("shop.payments")
    assert "1 of 6 topics" in typical.text("topics")
    arrivals = report_facts.typical().arrivals
    landed = sum(a.messages for a in arrivals if a.topic == "shop.payments")
    assert f"{landed:,} messages landed" in typical.text("topics")
    filter_box.fill("maxwell")
    assert typical.column("topics", "Topic") == ["crm.notes"]
    filter_box.fill("no such topic")
    assert "No topic passes this filter." in typical.text("topics")
    assert "No message landed in the time" in typical.text("topics")
    filter_box.fill("")
    assert len(typical.column("topics", "Topic")) == 6


def test_only_what_a_finding_names_is_to_be_looked_at(typical):
    typical.get_by_label("Only with something to look at").check()
    topics = typical.column("topics", "Topic")
    assert [topic.split()[0] for topic in topics] == [
        *("inventory.parts", "shop.customers", "shop.payments")
    ]


def test_a_finding_leads_to_its_topic_opened_and_marks_the_partition(typical):
    typical.get_by_role("button", name="shop.payments/1").click()
    rows = typical.locator("#topics tbody tr")
    assert [row.locator(".flag").count() for row in rows.all()] == [1, 0, 1]
    assert rows.last.locator("th").inner_text().startswith("Partition 1")
    assert typical.evaluate("document.activeElement.id") == "filter"


def test_a_column_sorts_both_ways_with_nothing_last(typical):
    def click(label):
        heading = typical.locator("#topics table").first.get_by_role(
            "button", name=label, exact=True
        )
        heading.click()
        return heading.locator("..").get_attribute("aria-sort")

    assert typical.column("topics", "Topic")[0] == "crm.notes"
    assert click("Topic") == "descending"
    assert typical.column("topics", "Topic")[0].startswith("shop.payments")
    assert click("Messages") == "descending"
    assert typical.column("topics", "Messages")[0] == "183,210"
    assert click("Messages") == "ascending"
    assert typical.column("topics", "Messages")[0] == "18"
    for order in ("descending", "ascending"):
        assert click("Committed") == order
        assert typical.column("topics", "Committed")[-2:] == [DASH, DASH]
    assert typical.locator("#topics table").first.locator("[aria-sort]").count() == 1


def test_a_row_opens_with_its_results_its_gaps_and_its_chart(typical):
    typical.get_by_role("button", name="Details of shop.payments, 2 partitions").click()
    button = typical.get_by_role("button", name="Details of shop.payments, partition 1")
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    opened = typical.locator(f"#{button.get_attribute('aria-controls')}")
    text = opened.inner_text()
    for part in (
        "Inserts\n23,000",
        "Updates\n8,000",
        f"4,100{DASH}4,180",
        "Kafka had deleted 81 offsets",
    ):
        assert part in text
    assert "erased from bronze" in text
    assert drawn(typical, ".detail", LIGHT["landed"]) > 1_000
    button.click()
    assert opened.count() == 0
    assert button.get_attribute("aria-expanded") == "false"


def test_results_add_up_by_kind(seen):
    assert seen.column("results", "Kind")[:2] == ["Snapshots", "Inserts"]
    assert seen.column("results", "Results")[1:4] == ["105,277", "83,692", "3,600"]
    assert "Inserts: 39.5%" in seen.locator("#results .strip").get_attribute("aria-label")


def test_lag_names_the_latest_and_those_that_wait(seen):
    tables = seen.locator("#lag table")
    assert tables.nth(0).locator("tbody tr").first.inner_text().split("\t")[:3] == [
        *("crm.notes", "0", "1 h 25 min")
    ]
    assert tables.nth(1).locator("tbody tr").all_inner_texts()[0].split("\t")[2] == "4,100"


def test_rejected_messages_are_masked_without_values_and_said_to_be(show):
    masked = "Letters and digits are masked; lakehouse report --with-values shows them."
    opened = show(report_facts.typical())
    assert masked in opened.text("rejected")
    assert MASKED in opened.text("rejected")
    assert SECRET not in page_of(report_facts.typical(), ())
    opened = show(report_facts.with_values())
    assert masked not in opened.text("rejected")
    assert SECRET in opened.text("rejected")
    assert f"no number: {SECRET}" in opened.text("rejected")


def test_a_command_is_copied(typical):
    typical.context.grant_permissions(["clipboard-read", "clipboard-write"])
    typical.locator("#rejected .copy").first.click()
    typical.get_by_text("Copied", exact=True).wait_for()
    assert typical.evaluate("navigator.clipboard.readText()") == (
        "lakehouse replay --topic shop.customers --reason not_json"
    )


def test_drift_has_what_was_and_what_is(seen):
    assert seen.column("drift", "Before → after") == [
        *(f"{DASH} → varchar(20)", "decimal(10,2) → decimal(14,4)", "e_mail → mail", DASH)
    ]
    assert seen.column("drift", "What")[3] == "dropped table"
    assert seen.column("drift", "Place")[0] == "shop.orders / 1 / 40,211"
    assert "alter table orders modify total" in seen.text("drift")


def test_source_tables_without_a_gold_model_come_first_with_the_command(seen):
    text = seen.text("gold")
    assert "2 source tables have no gold model" in text
    commands = seen.locator("#gold td .command code").all_inner_texts()
    assert commands == [
        "lakehouse add-table 'crm.Order Notes'",
        "lakehouse add-table inventory.parts",
    ]
    assert "card: bad_number, 3, first: " in text


def test_steps_that_overlap_stand_in_lanes_of_their_own(show):
    steps = [
        RunStep("orders", name, began, seconds, 0, 0, 0, 0)
        for name, began, seconds in (("one", 0.0, 2.0), ("two", 1.0, 2.0), ("three", 2.0, 2.0))
    ]
    run = Run("dbt-build", NOW - 60, 8.0, tuple(steps))
    opened = show(replace(report_facts.typical(), runs=(run,)))
    lanes = opened.locator("#runs .lane")
    assert [lane.inner_text() for lane in lanes.all()] == ["one\nthree", "two"]
    box, whole = lanes.nth(1).locator(".step").bounding_box(), lanes.nth(1).bounding_box()
    assert (box["x"] - whole["x"]) / whole["width"] == pytest.approx(1 / 8, abs=0.01)
    assert box["width"] / whole["width"] == pytest.approx(2 / 8, abs=0.01)
    label = opened.locator("#runs [role=img]").get_attribute("aria-label")
    assert label == "Time line of dbt-build, 8 s. Longest: orders 6 s."
    opened.get_by_text("3 steps as a table").click()
    assert opened.column("runs", "Step") == ["one", "two", "three"]


def test_files_and_bytes_are_in_units(seen):
    assert "5 tables with 88 files and 273 MiB" in seen.text("storage")
    assert seen.column("storage", "Bytes")[:3] == ["174 MiB", "92 MiB", "6.0 MiB"]


def test_hostile_names_and_bytes_do_nothing(show):
    opened = show(*report_facts.hostile())
    assert HOSTILE[-1] not in opened.text("topics")
    opened.click_all("#topics .open, #rejected .open, #runs .run summary")
    opened.wait_for_timeout(100)
    assert opened.evaluate("window.hacked") is None
    assert opened.said == []
    assert opened.requests == [opened.address]
    assert opened.locator("script").count() == 3
    assert opened.locator("main img, main [onerror], main [onclick]").count() == 0
    text = opened.locator("body").inner_text()
    assert "[object Object]" not in text
    assert not re.search("[\u2028\u2029\u202e\x00\x1b\x07]", text)
    shown = opened.column("topics", "Topic")
    for name in (
        "<script>window.hacked=1</script>",
        r"exe.\u202egnp.shop",
        "__proto__",
        "&lt;b&gt;",
    ):
        assert any(topic.startswith(name) for topic in shown), name
    assert max(map(len, shown)) < 100
    assert HOSTILE[-1] in opened.locator("#topics .detail .whole").all_inner_texts()


def test_no_script_but_its_own_runs(typical):
    """Even if a text became an element."""
    typical.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      document.body.append(script);
      const image = document.createElement("div");
      image.innerHTML = '<img src="data:," onerror="window.hacked = 2">';
      document.body.append(image);
    }""")
    expect(typical.locator("img")).to_have_count(1)
    typical.wait_for_timeout(100)
    assert typical.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in typical.said)


def test_ten_thousand_topics_stay_small(show, huge):
    assert len(huge) < 8_000_000
    opened = show(huge)
    assert opened.elements() < 5_000
    assert opened.column("topics", "Topic")[-1] == "tenant_00099.orders"
    opened.get_by_role("button", name="Next topics").click()
    assert opened.column("topics", "Topic")[1] == "tenant_00101.orders"
    assert f"101{DASH}200 of 10,000 topics" in opened.text("topics")
    opened.get_by_label("Filter by topic or format").press_sequentially("nt_07654")
    assert opened.column("topics", "Topic") == ["tenant_07654.orders"]
    assert "Messages over time, 1 topic of the filter" in opened.text("topics")
    assert opened.get_by_role("button", name="Next topics").count() == 0
    opened.get_by_label("Filter by topic or format").fill("")
    opened.get_by_label("Only with something to look at").check()
    assert "100 of 10,000 topics" in opened.text("topics")
    assert len(opened.column("topics", "Topic")) == 100
    opened.get_by_text("10,000 steps as a table").click()
    assert opened.elements() < 5_000


def test_on_paper_all_findings_are_there_and_colours_are_light(show, huge):
    opened = show(huge, color_scheme="dark")
    assert opened.locator(".findings li").count() == 20
    opened.emulate_media(media="print")
    expect(opened.locator(".findings li")).to_have_count(100)
    assert drawn(opened, "#topics", LIGHT["landed"]) > 5_000
    for hidden in ("nav", ".filters", ".pager", ".copy", ".open"):
        assert not opened.locator(hidden).first.is_visible(), hidden
    assert opened.evaluate("getComputedStyle(document.body).color") == "rgb(24, 32, 44)"
    opened.emulate_media(media="screen")
    expect(opened.locator(".findings li")).to_have_count(20)
    assert drawn(opened, "#topics", DARK["landed"]) > 5_000


def test_all_of_it_is_reached_by_keyboard(typical):
    focused = []
    for _ in range(90):
        typical.keyboard.press("Tab")
        focused.append(
            typical.evaluate(
                "(({ id, textContent, ariaLabel, hash }) => hash || id || ariaLabel || textContent)"
                "(document.activeElement)"
            )
        )
    places = [
        focused.index(name)
        for name in (
            *("#content", "#overview", "shop.customers", "filter", "flagged"),
            *("Numbers of this chart", "Topic", "Delay"),
            *("Details of crm.notes, partition 0", "Kind"),
        )
    ]
    assert places == sorted(places)
    typical.get_by_role("button", name="Details of crm.notes").focus()
    typical.keyboard.press("Enter")
    assert typical.locator("#topics .detail").count() == 1
    outline = "(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])"
    style = "(getComputedStyle(document.activeElement))"
    assert typical.evaluate(outline + style) == ["solid", "2px"]


def test_the_accessibility_tree_names_all_that_it_has(typical):
    typical.click_all("#topics .open, .fold details > summary")
    typical.click_all("#topics .beneath .open")
    session = typical.context.new_cdp_session(typical.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    named = (
        "button",
        "link",
        "searchbox",
        "checkbox",
        "image",
        "table",
        "columnheader",
        "navigation",
    )
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in named
    ]
    assert {role for role, _ in found} == set(named)
    assert [role for role, name in found if not name] == []
    roles = {node["role"]["value"] for node in nodes if not node["ignored"]}
    assert {"main", "banner", "navigation", "search", "status", "heading"} <= roles
    ids = typical.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(ids) == len(set(ids))
    levels = typical.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((h) => +h.tagName[1])"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast(show, scheme):
    opened = show(report_facts.typical(), report_facts.findings(), color_scheme=scheme)
    opened.click_all("#topics .open")
    found = opened.evaluate(CONTRASTS)
    assert len(found) > 500
    assert [(round(ratio, 2), text) for ratio, text in found if ratio < CONTRAST] == []


def test_no_width_makes_the_page_scroll_sideways(show):
    for facts, findings in (
        (report_facts.typical(), report_facts.findings()),
        report_facts.hostile(),
    ):
        opened = show(facts, findings)
        opened.click_all("#topics .open")
        for width in (360, 768, 1024, 1920):
            opened.set_viewport_size({"width": width, "height": 800})
            assert opened.evaluate("document.documentElement.scrollWidth") == width
