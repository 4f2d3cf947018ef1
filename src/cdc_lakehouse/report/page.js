// Reads the facts, fills the sections, and follows the theme, the printer and the clock.

/** Return rows as objects, by the header of their kind. */
function unpacked(columns, rows, inside) {
  return rows.map((row) => {
    const object = Object.fromEntries(columns.map((name, place) => [name, row[place]]));
    for (const [name, names] of Object.entries(inside ?? {}))
      object[name] = unpacked(names, object[name]);
    return object;
  });
}

function readReport() {
  const { columns, facts, findings, first_line } = JSON.parse(byId("data").textContent);
  const [found] = unpacked(columns.Facts, [facts]);
  return {
    ...found,
    first_line,
    findings: unpacked(columns.Finding, findings),
    partitions: withArrivals(
      unpacked(columns.Partition, found.partitions),
      found.arrivals,
      unpacked(columns.Gap, found.gaps),
    ),
    first_span: found.arrivals[0]?.[0] ?? 0,
    rejected: unpacked(columns.Rejected, found.rejected, { samples: columns.Sample }),
    drift: unpacked(columns.Drift, found.drift),
    source_tables: unpacked(columns.SourceTable, found.source_tables),
    gold_tables: unpacked(columns.GoldTable, found.gold_tables, { problems: columns.Problem }),
    runs: unpacked(columns.Run, found.runs, { steps: columns.RunStep }),
    stored: unpacked(columns.Stored, found.stored),
  };
}

/** Give each partition its messages by span and its gaps. */
function withArrivals(partitions, arrivals, gaps) {
  const key = (topic, partition) => `${partition} ${topic}`;
  const counts = new Map(
    arrivals.slice(1).map(([topic, partition, found]) => [key(topic, partition), found]),
  );
  const missing = grouped(gaps, (gap) => key(gap.topic, gap.partition));
  for (const row of partitions) {
    row.counts = counts.get(key(row.topic, row.partition)) ?? [];
    row.gaps = missing.get(key(row.topic, row.partition)) ?? [];
    row.findings = [];
  }
  return partitions;
}

const printers = [];
let isPrinting = false;

/** Call `draw` with true before the page is printed, and with false after it. */
function onPrint(draw) {
  printers.push(draw);
}

function setPrinting(isNow) {
  if (isNow === isPrinting) return;
  isPrinting = isNow;
  for (const draw of printers) draw(isNow);
  redrawCharts();
}

function followMedia() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
}

/** Mark the link of the section that is read. */
function followSections() {
  const links = new Map(
    [...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]),
  );
  const seen = new Set();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
      const first = [...links.keys()].find((id) => seen.has(id));
      for (const [id, link] of links) {
        if (id === first) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-15% 0px -60% 0px" },
  );
  for (const id of links.keys()) watcher.observe(byId(id));
}

/** Open the section that a link leads to, and on paper all of them. */
function followFolds() {
  for (const link of document.querySelectorAll("nav a"))
    link.addEventListener("click", () => openFold(link.hash.slice(1)));
  openFold(location.hash.slice(1));
  const closed = new Set();
  onPrint((isNow) => {
    for (const fold of document.querySelectorAll(".fold")) {
      if (isNow && !fold.open) closed.add(fold);
      fold.open = isNow || !closed.has(fold);
    }
    if (!isNow) closed.clear();
  });
}

function drawHead() {
  document.title = `${visible(report.name)}: ${byId("status").textContent}`;
  byId("name").append(nameOf(report.name));
  const old = Date.now() / 1000 - report.made_at;
  const stale = old > 600 ? ` (${duration(old, 1)} old)` : "";
  byId("moment").append(
    make(
      "time",
      { datetime: utc(report.made_at).replace(" ", "T").replace(" UTC", "Z") },
      utc(report.made_at),
    ),
    stale,
    ` · cdc_lakehouse ${visible(report.release)}`,
  );
}

const SECTIONS = {
  overview: overviewSection,
  topics: topicsSection,
  results: resultsSection,
  lag: lagSection,
  rejected: rejectedSection,
  drift: driftSection,
  gold: goldSection,
  runs: runsSection,
  storage: storageSection,
};

/**
 * Say that something failed, in place of a page that is silently empty. That a chart has changed its
 * size while sizes were told is no failure: the browser tells the others in its next frame.
 */
function showError({ message }) {
  if (message.startsWith("ResizeObserver loop")) return;
  byId("overview-body").append(note(`This page cannot show all of its figures: ${message}`));
}

addEventListener("error", showError);
const report = readReport();
assignFindings(report.partitions, report.findings);
for (const [id, section] of Object.entries(SECTIONS)) {
  byId(`${id}-body`).append(
    ...section()
      .flat(Infinity)
      .filter((child) => child !== null),
  );
}
drawHead();
followFolds();
followMedia();
followSections();
