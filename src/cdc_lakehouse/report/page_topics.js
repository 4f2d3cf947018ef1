// The topics: their chart, their table with the partitions of each, and what an opened row shows.

const ROWS = 100; // topics at a time

// What becomes of messages: the field of a partition, and its name. The colours are in page.css.
const RESULTS = [
  ["snapshots", "Snapshots"],
  ["inserts", "Inserts"],
  ["updates", "Updates"],
  ["deletes", "Deletes"],
  ["truncates", "Truncates"],
  ["schema_changes", "Schema changes"],
  ["heartbeats", "Heartbeats"],
  ["transaction_markers", "Transaction markers"],
  ["controls", "Controls"],
  ["rejected", "Rejected"],
];

const GAP_REASONS = new Map([
  ["unread", "Kafka deleted them before they were read"],
  ["retention", "expired from bronze"],
  ["erasure", "erased from bronze"],
]);

const total = (rows, field) => rows.reduce((sum, row) => sum + (row[field] ?? 0), 0);

/** Give each partition the findings that name it: with others, as `shop.orders`, or as `shop.orders/0`. */
function assignFindings(partitions, findings) {
  const byTopic = grouped(partitions, (partition) => partition.topic);
  for (const finding of findings) {
    const [, topic, number] =
      /^([^]*?)[\s,:/[#-]+(?:partition\s+)?(\d+)\]?$/.exec(finding.subject) ?? [];
    const several = finding.topics.flatMap((one) => byTopic.get(one) ?? []);
    const named =
      byTopic.get(finding.subject) ??
      (byTopic.get(topic) ?? []).filter((one) => one.partition === Number(number));
    for (const partition of [...several, ...named]) partition.findings.push(finding);
    finding.topic = several.length ? null : (named[0]?.topic ?? null);
  }
}

const delayOf = (row) => (row.is_archive ? null : row.delay_seconds);

/** Return a row for each topic: its only partition, or one that has its partitions as `parts`. */
function topicsOf(partitions) {
  return [...grouped(partitions, (partition) => partition.topic)].map(([topic, parts]) => {
    const row = parts.length > 1 ? wholeTopic(topic, parts) : parts[0];
    row.search = `${topic} ${visible(topic)} ${row.format}`.toLowerCase();
    return row;
  });
}

/** Return what the partitions of a topic have together: sums, newest times, the largest delay. */
function wholeTopic(topic, parts) {
  const formats = new Set(parts.map((part) => part.format));
  const findings = new Set(parts.flatMap((part) => part.findings));
  const row = { topic, parts, format: [...formats].join(", "), findings: [...findings] };
  const most = (value) => value(sorted(parts, value, true)[0]);
  for (const field of ["messages", "rejected", "unprocessed", "missing_offsets"])
    row[field] = total(parts, field);
  for (const field of ["produced_at", "committed_at", "ingested_at", "processed_at"])
    row[field] = most((part) => part[field]);
  row.delay_seconds = most(delayOf);
  for (const part of parts) part.isPart = true;
  return row;
}

class Topics {
  constructor(topics) {
    this.topics = topics;
    this.chart = new Chart("Messages that landed", 190);
    this.title = make("h3", { id: newId() });
    this.filter = make("input", {
      type: "search",
      id: "filter",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.isFlagged = make("input", { type: "checkbox", id: "flagged" });
    this.found = make("p", { class: "found", role: "status" });
    this.none = note("No topic passes this filter.");
    this.table = new Table({
      caption: "Topics and their partitions",
      what: "topics",
      columns: topicColumns(),
      rows: topics,
      sort: "Topic",
      pageSize: ROWS,
      nameRow: (row) => `${shortened(visible(row.topic))}, ${partsOf(row)}`,
      detail: partitionDetail,
    });
    this.filter.addEventListener("input", () => this.update());
    this.isFlagged.addEventListener("change", () => this.update());
    this.element = make(
      "div",
      null,
      this.#controls(),
      this.title,
      this.chart.element,
      this.none,
      this.table.element,
    );
  }

  #controls() {
    const text = make("label", { for: "filter" }, "Filter by topic or format");
    const flagged = make(
      "label",
      { class: "check" },
      this.isFlagged,
      "Only with something to look at",
    );
    return make(
      "div",
      { class: "filters", role: "search" },
      make("div", null, text, this.filter),
      flagged,
      this.found,
    );
  }

  /** Show the topics that pass the filter, in the table and in the chart. */
  update() {
    const text = this.filter.value.trim().toLowerCase();
    const isShown = (row) =>
      (!this.isFlagged.checked || row.findings.length) && (!text || row.search.includes(text));
    const rows = this.topics.filter(isShown);
    const isAll = rows.length === this.topics.length;
    this.found.textContent = isAll
      ? ""
      : `${count(rows.length)} of ${counted(this.topics.length, "topic")}`;
    this.title.textContent = isAll
      ? "Messages over time, all topics"
      : `Messages over time, ${counted(rows.length, "topic")} of the filter`;
    this.none.hidden = rows.length > 0;
    this.table.element.hidden = !rows.length;
    this.table.show(rows);
    this.chart.show(spansOf(rows.flatMap((row) => row.parts ?? [row])));
  }

  /** Show one topic only, opened. */
  choose(topic) {
    this.table.open.add(this.topics.find((row) => row.topic === topic));
    this.filter.value = topic;
    this.isFlagged.checked = false;
    this.update();
    openFold("topics");
    byId("topics").scrollIntoView();
    this.filter.focus({ preventScroll: true });
  }
}

const partsOf = (row) =>
  row.parts ? counted(row.parts.length, "partition") : `partition ${row.partition}`;

function topicColumns() {
  const bad = (label, value, kind, help) => ({
    ...numberColumn(label, value, help),
    show: (row) => (value(row) ? make("span", { class: kind }, count(value(row))) : value(row)),
  });
  return [
    { ...nameColumn("Topic", (row) => row.topic), show: topicName },
    nameColumn("Format", (row) => row.format),
    numberColumn("Messages", (row) => row.messages, "Messages that came in, each counted once"),
    bad("Rejected", (row) => row.rejected, "is-bad", "Messages that are no result, with a reason"),
    bad(
      "Waiting",
      (row) => row.unprocessed,
      "is-waiting",
      "Messages that have landed and are not in silver yet",
    ),
    bad(
      "Missing",
      (row) => row.missing_offsets,
      "is-warned",
      "Offsets between the first and the last that no message has",
    ),
    ageColumn(
      "Produced",
      (row) => row.produced_at,
      "When the producer or the capturing tool wrote the latest message",
    ),
    ageColumn(
      "Committed",
      (row) => row.committed_at,
      "When the source committed the latest change that is processed",
    ),
    ageColumn(
      "Ingested",
      (row) => row.ingested_at,
      "When the ingest that landed the latest message began",
    ),
    ageColumn(
      "Processed",
      (row) => row.processed_at,
      "When the run ended its work on the latest message",
    ),
    delayColumn(
      "Delay",
      delayOf,
      "From the commit of the latest change to its processing, the largest of the partitions; " +
        "not of messages from files",
    ),
  ];
}

function topicName(row) {
  const name = row.isPart
    ? `Partition ${row.partition}`
    : [nameOf(row.topic), " ", row.parts ? make("span", { class: "parts" }, partsOf(row)) : null];
  if (!row.findings.length) return name;
  const flag = make(
    "span",
    { class: "flag", title: row.findings.map((finding) => visible(finding.text)).join("\n") },
    "!",
  );
  return make(
    "span",
    null,
    name,
    " ",
    flag,
    make("span", { class: "unseen" }, "has something to look at"),
  );
}

function partitionDetail(row) {
  const chart = new Chart(
    `Messages of ${shortened(visible(row.topic))}, partition ${row.partition}`,
    120,
  );
  chart.show(spansOf([row]));
  const offsets =
    row.first_offset === null ? NOTHING : `${count(row.first_offset)}–${count(row.last_offset)}`;
  const kinds = RESULTS.filter(([field]) => row[field]).map(([field, label]) => [
    label,
    count(row[field]),
  ]);
  const long =
    visible(row.topic).length > SHOWN ? make("p", { class: "whole" }, visible(row.topic)) : null;
  return [
    long,
    ...row.findings.map((finding) => make("p", { class: "finding-text" }, prose(finding.text))),
    pairs([
      ...kinds,
      ["Duplicates", count(row.duplicates)],
      ["Late changes", count(row.late_changes)],
      ["Partition", row.partition],
      ["Offsets", offsets],
    ]),
    row.gaps.length ? gapsTable(row.gaps) : null,
    chart.element,
  ];
}

function gapsTable(gaps) {
  const columns = [
    {
      label: "Missing offsets",
      value: (gap) => gap.first_offset,
      show: (gap) => `${count(gap.first_offset)}–${count(gap.last_offset)}`,
    },
    numberColumn("Count", (gap) => gap.last_offset - gap.first_offset + 1),
    {
      label: "Reason",
      value: (gap) => gap.reason,
      show: (gap) => GAP_REASONS.get(gap.reason) ?? nameOf(gap.reason),
    },
    ageColumn("Found", (gap) => gap.found_at),
  ];
  return new Table({
    caption: "Offsets that bronze does not hold",
    what: "gaps",
    columns,
    rows: gaps,
    pageSize: 10,
  }).element;
}

function topicsSection() {
  if (!report.partitions.length)
    return [
      note("No message has landed yet. `lakehouse ingest` or `lakehouse run` lands messages."),
    ];
  const topics = new Topics(topicsOf(report.partitions));
  report.choose = (topic) => topics.choose(topic);
  topics.update();
  return [topics.element];
}
