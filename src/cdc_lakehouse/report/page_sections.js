// The other sections, each a function that returns what stands below its heading.

const FINDINGS = 20; // at a time

function findingItem(finding) {
  const subject = finding.topic === null
    ? nameOf(finding.subject)
    : make("button", { type: "button", class: "link", title: "Show this topic", onclick: () => report.choose(finding.topic) }, nameOf(finding.subject));
  return make(
    "li",
    null,
    make("p", { class: "subject" }, subject, make("span", { class: "tag", title: "The limit in seeds/limits.csv" }, visible(finding.limit))),
    make("p", null, prose(finding.text)),
    make("p", { class: "remedy" }, prose(finding.remedy)),
  );
}

/** The findings, some at a time; on paper all of them. */
function findingList(findings) {
  const list = make("ol", { class: "findings" });
  const draw = (isWhole) => {
    const shown = pager.part(findings);
    list.replaceChildren(...(isWhole === true ? findings : shown).map(findingItem));
  };
  const pager = new Pager("things to look at", FINDINGS, draw);
  draw();
  onPrint(draw);
  return [list, pager.element];
}

function status() {
  const found = report.findings.length;
  if (found) return ["is-warned", `${count(found)} ${found === 1 ? "thing" : "things"} to look at`];
  return report.problems.length ? ["is-warned", "This report is incomplete"] : ["is-good", "All is well"];
}

function figure(label, value, more, kind) {
  return make("div", { class: kind ?? null }, make("dt", null, label), make("dd", null, make("strong", null, value), make("span", null, more)));
}

function figures() {
  const { partitions, gold_tables: gold } = report;
  const [messages, rejected, waiting] = ["messages", "rejected", "unprocessed"].map((field) => total(partitions, field));
  const topics = new Set(partitions.map((partition) => partition.topic)).size;
  return make(
    "dl",
    { class: "figures" },
    figure("Topics", count(topics), counted(partitions.length, "partition")),
    figure("Messages", count(messages), `${counted(total(partitions, "row_changes"), "row change")}`),
    figure("Rejected", count(rejected), `${share(rejected, messages)} of the messages`, rejected ? "has-bad" : null),
    figure("Waiting", count(waiting), "messages to be processed"),
    figure("Gold tables", count(gold.length), counted(total(gold, "rows"), "row")),
  );
}

function overviewSection() {
  const [kind, title] = status();
  byId("status").textContent = title;
  byId("status").className = kind;
  const unread = report.problems.map((problem) => make("li", null, prose(problem)));
  return [
    make("p", { class: "about" }, aboutStatus()),
    figures(),
    unread.length ? make("div", { class: "unread" }, make("p", null, "These parts could not be read, so the report has gaps:"), make("ul", null, unread)) : null,
    report.findings.length ? findingList(report.findings) : null,
  ];
}

function aboutStatus() {
  if (report.findings.length) return "These are beyond a limit in seeds/limits.csv. Ages are counted back from the moment of the report.";
  if (report.problems.length) return "Nothing that could be read is beyond a limit in seeds/limits.csv.";
  return "Nothing is beyond a limit in seeds/limits.csv. Ages are counted back from the moment of the report.";
}

function resultsSection() {
  const found = RESULTS.map(([field, label]) => ({ field, label, value: total(report.partitions, field) }));
  const all = total(found, "value");
  if (!all) return [note("No message has been processed yet. `dbt build` processes what has landed.")];
  const strip = make("div", { class: "strip", role: "img", "aria-label": found.filter((one) => one.value).map((one) => `${one.label}: ${share(one.value, all)}`).join(", ") });
  for (const one of found) {
    const part = make("span", { class: one.field, title: `${one.label}: ${count(one.value)}, ${share(one.value, all)}` });
    part.style.flexGrow = one.value / all;
    if (one.value) strip.append(part);
  }
  const columns = [
    { label: "Kind", value: (one) => one.label, show: (one) => make("span", { class: "kind" }, make("i", { class: one.field, "aria-hidden": "true" }), one.label) },
    numberColumn("Results", (one) => one.value),
    { ...numberColumn("Share", (one) => one.value), show: (one) => share(one.value, all) },
    { label: "Bar", value: (one) => one.value, show: (one) => bar(one.value, all, one.field), kind: "graph", isFixed: true },
  ];
  return [strip, new Table({ caption: "Results of messages by kind", what: "kinds", columns, rows: found }).element, note("A message may have several row changes. Every other message has one result.")];
}

function lagTable(title, rows, value, show, empty) {
  const most = rows.length ? value(rows[0]) : 0;
  const columns = [
    { ...nameColumn("Topic", (row) => row.topic) },
    numberColumn("Partition", (row) => row.partition),
    { ...numberColumn(title, value), show: (row) => show(value(row)) },
    { label: "Bar", value, show: (row) => bar(value(row), most), kind: "graph", isFixed: true },
  ];
  return make("div", null, make("h3", null, title), tableOr(empty, { caption: title, what: "partitions", columns, rows, pageSize: 10 }));
}

function lagSection() {
  const first = (field) => sorted(report.partitions.filter((row) => row[field] > 0), (row) => row[field], true).slice(0, 10);
  return [
    make(
      "div",
      { class: "columns" },
      lagTable("Largest delay", first("delay_seconds"), (row) => row.delay_seconds, duration, "No processed change tells when its source committed it."),
      lagTable("Most waiting", first("unprocessed"), (row) => row.unprocessed, count, "All messages that have landed are processed."),
    ),
    note("The delay is the time from the commit of the latest change in the source to its processing."),
  ];
}

function sampleItem(sample) {
  const about = `Partition ${sample.partition}, offset ${count(sample.offset)}, ${size(sample.size)}`;
  return make("figure", { class: "sample" }, make("figcaption", null, about), make("pre", { tabindex: "0", "aria-label": `First bytes of the message. ${about}` }, visibleLines(sample.text)));
}

function rejectedDetail(row) {
  return [
    row.detail === null ? null : make("p", null, "First detail: ", make("code", null, visible(row.detail))),
    make("p", null, "Once the cause is removed: ", command(row.replay)),
    row.samples.map(sampleItem),
  ];
}

function rejectedSection() {
  const rows = report.rejected;
  if (!rows.length) return [note("No message was rejected.")];
  const columns = [
    nameColumn("Topic", (row) => row.topic),
    nameColumn("Format", (row) => row.format),
    nameColumn("Reason", (row) => row.reason),
    numberColumn("Messages", (row) => row.messages),
    { ...numberColumn("Offsets", (row) => row.first_offset), show: (row) => `${count(row.first_offset)}–${count(row.last_offset)}` },
    ageColumn("Last ingested", (row) => row.last_ingested_at),
  ];
  const table = new Table({
    caption: "Rejected messages by topic and reason",
    what: "reasons",
    columns,
    rows,
    sort: "Messages",
    isDown: true,
    detail: rejectedDetail,
    nameRow: (row) => `${visible(row.reason)} in ${shortened(visible(row.topic))}`,
    isOpen: rows.length <= 3,
  });
  const masked = note("Letters and digits are masked; `lakehouse report --with-values` shows them.");
  return [report.has_values ? null : masked, table.element];
}

const DRIFTS = {
  new: "new column",
  vanished: "vanished column",
  retyped: "other type",
  renamed: "renamed column",
  renamed_table: "renamed table",
  dropped_table: "dropped table",
};

function driftChange(row) {
  const [before, after] = row.previous_name === null
    ? [row.previous_type, row.type]
    : [row.previous_name, row.column ?? row.table];
  if (before === null && after === null) return null;
  return make("span", { class: "change" }, before === null ? NOTHING : nameOf(before), " → ", after === null ? NOTHING : nameOf(after));
}

function driftSection() {
  const columns = [
    nameColumn("Table", (row) => row.table),
    nameColumn("Column", (row) => row.column),
    { label: "What", value: (row) => DRIFTS[row.drift] ?? visible(row.drift) },
    { label: "Before → after", value: (row) => row.type, show: driftChange, isFixed: true },
    ageColumn("Committed", (row) => row.committed_at, "When the source committed it"),
    { label: "Place", value: (row) => row.topic, show: (row) => make("span", { class: "place" }, nameOf(row.topic), ` / ${row.partition} / ${count(row.offset)}`), help: "Topic, partition and offset" },
    { label: "Statement", value: (row) => row.ddl, show: (row) => (row.ddl === null ? null : make("code", { class: "ddl" }, visibleLines(row.ddl))), isFixed: true },
  ];
  return [tableOr("No source table has changed its columns since its first message.", { caption: "Changes of columns and tables in the sources", what: "changes", columns, rows: report.drift, sort: "Committed", isDown: true })];
}

function problemItem(problem) {
  const where = problem.column === null ? "row" : nameOf(problem.column);
  const first = problem.first_text === null ? [] : [", first: ", make("code", null, shortened(visible(problem.first_text)))];
  return make("li", null, where, `: ${visible(problem.code)}, ${count(problem.problems)}`, ...first);
}

function goldTables() {
  const columns = [
    nameColumn("Table", (row) => row.table),
    numberColumn("Rows", (row) => row.rows),
    ageColumn("Last change", (row) => row.changed_at, "The commit in the source of its latest change"),
    { ...numberColumn("Problems", (row) => total(row.problems, "problems"), "Values that do not fit their column"), kind: "number" },
    { label: "By column", value: () => null, show: (row) => (row.problems.length ? make("ul", { class: "problems" }, row.problems.map(problemItem)) : null), isFixed: true },
  ];
  return tableOr("There is no gold table yet. `lakehouse add-table --all` writes a model for each source table.", { caption: "Gold tables", what: "gold tables", columns, rows: report.gold_tables, sort: "Problems", isDown: true });
}

function sourceTables() {
  const columns = [
    nameColumn("Source table", (row) => row.table),
    numberColumn("Changes", (row) => row.changes),
    numberColumn("Late", (row) => row.late_changes, "Changes that came after an earlier run had processed a later change of their table"),
    numberColumn("Duplicates", (row) => row.duplicates),
    ageColumn("Last change", (row) => row.committed_at, "The commit in the source of its latest change"),
    ageColumn("Processed", (row) => row.processed_at),
    delayColumn("Delay", (row) => row.delay_seconds, "From the commit of the latest change to its processing"),
    { label: "Gold model", value: (row) => (row.has_model ? 1 : 0), show: (row) => (row.has_model ? "yes" : command(`lakehouse add-table ${quoted(row.table)}`)) },
  ];
  return tableOr("No message of a source table has been processed yet.", { caption: "Source tables", what: "source tables", columns, rows: report.source_tables, sort: "Gold model" });
}

function goldSection() {
  const missing = report.source_tables.filter((row) => !row.has_model).length;
  const all = missing > 1 ? ["; ", command("lakehouse add-table --all"), " adds all that it can"] : [];
  return [
    goldTables(),
    make("h3", null, "Source tables"),
    missing ? make("p", null, `${counted(missing, "source table has", "source tables have")} no gold model`, ...all, ".") : null,
    sourceTables(),
  ];
}

function storageSection() {
  const rows = report.stored;
  const most = largest(rows, (row) => row.bytes);
  const columns = [
    nameColumn("Table", (row) => row.table),
    numberColumn("Rows", (row) => row.rows),
    numberColumn("Files", (row) => row.files),
    { ...numberColumn("Bytes", (row) => row.bytes), show: (row) => size(row.bytes), title: (row) => `${count(row.bytes)} bytes` },
    { label: "Bar", value: (row) => row.bytes, show: (row) => bar(row.bytes, most), kind: "graph", isFixed: true },
    { ...numberColumn("Per file", (row) => (row.files ? row.bytes / row.files : null)), show: (row) => (row.files ? size(row.bytes / row.files) : NOTHING) },
  ];
  const about = `${counted(rows.length, "table")} with ${counted(total(rows, "files"), "file")} and ${size(total(rows, "bytes"))}, without files that vacuum will remove.`;
  return [rows.length ? make("p", null, about) : null, tableOr("No table of this lakehouse has files yet.", { caption: "Files and bytes by table", what: "tables", columns, rows, sort: "Bytes", isDown: true })];
}
