// What became of messages: their results, how late they are, those rejected, and schema drift.

function resultsSection() {
  const found = RESULTS.map(([field, label]) => ({
    field,
    label,
    value: total(report.partitions, field),
  }));
  const all = total(found, "value");
  if (!all)
    return [note("No message has been processed yet. `dbt build` processes what has landed.")];
  const strip = make("div", {
    class: "strip",
    role: "img",
    "aria-label": found
      .filter((one) => one.value)
      .map((one) => `${one.label}: ${share(one.value, all)}`)
      .join(", "),
  });
  for (const one of found) {
    const part = make("span", {
      class: one.field,
      title: `${one.label}: ${count(one.value)}, ${share(one.value, all)}`,
    });
    part.style.flexGrow = one.value / all;
    if (one.value) strip.append(part);
  }
  const columns = [
    {
      label: "Kind",
      value: (one) => one.label,
      show: (one) =>
        make(
          "span",
          { class: "kind" },
          make("i", { class: one.field, "aria-hidden": "true" }),
          one.label,
        ),
    },
    numberColumn("Results", (one) => one.value),
    { ...numberColumn("Share", (one) => one.value), show: (one) => share(one.value, all) },
    {
      label: "Bar",
      value: (one) => one.value,
      show: (one) => bar(one.value, all, one.field),
      kind: "graph",
      isFixed: true,
    },
  ];
  return [
    strip,
    new Table({ caption: "Results of messages by kind", what: "kinds", columns, rows: found })
      .element,
    note("A message may have several row changes. Every other message has one result."),
  ];
}

function lagTable(title, rows, value, show, empty) {
  const most = rows.length ? value(rows[0]) : 0;
  const columns = [
    { ...nameColumn("Topic", (row) => row.topic) },
    numberColumn("Partition", (row) => row.partition),
    { ...numberColumn(title, value), show: (row) => show(value(row)) },
    { label: "Bar", value, show: (row) => bar(value(row), most), kind: "graph", isFixed: true },
  ];
  return make(
    "div",
    null,
    make("h3", null, title),
    tableOr(empty, { caption: title, what: "partitions", columns, rows, pageSize: 10 }),
  );
}

function lagSection() {
  const [archives, live] = [true, false].map((isArchive) =>
    report.partitions.filter((row) => row.is_archive === isArchive),
  );
  const first = (rows, value) =>
    sorted(
      rows.filter((row) => value(row) > 0),
      value,
      true,
    ).slice(0, 10);
  const delay = (row) => row.delay_seconds;
  const waiting = (row) => row.unprocessed;
  const newest = (row) =>
    row.committed_at === null ? null : report.made_at - row.committed_at;
  return [
    make(
      "div",
      { class: "columns" },
      lagTable(
        "Largest delay",
        first(live, delay),
        delay,
        duration,
        "No processed change of a live topic tells when its source committed it.",
      ),
      archives.length
        ? lagTable(
            "Age of the newest change",
            first(archives, newest),
            newest,
            duration,
            "No processed change of a file tells when its source committed it.",
          )
        : null,
      lagTable(
        "Most waiting",
        first(report.partitions, waiting),
        waiting,
        count,
        "All messages that have landed are processed.",
      ),
    ),
    note(
      "The delay is the time from the commit of the latest change in the source to its processing. " +
        "Topics whose latest messages came from files have the age of their newest change instead.",
    ),
  ];
}

function sampleItem(sample) {
  const place = `Partition ${sample.partition}, offset ${count(sample.offset)}`;
  const about = `${place}, ${size(sample.size)}`;
  return make(
    "figure",
    { class: "sample" },
    make("figcaption", null, about),
    make(
      "pre",
      { tabindex: "0", "aria-label": `First bytes of the message. ${about}` },
      visibleLines(sample.text),
    ),
  );
}

function rejectedDetail(row) {
  return [
    row.detail === null
      ? null
      : make("p", null, "First detail: ", make("code", null, visible(row.detail))),
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
    {
      ...numberColumn("Offsets", (row) => row.first_offset),
      show: (row) => `${count(row.first_offset)}–${count(row.last_offset)}`,
    },
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
  const masked = note(
    "Letters and digits are masked; `lakehouse report --with-values` shows them.",
  );
  return [report.has_values ? null : masked, table.element];
}

const DRIFTS = new Map([
  ["new", "new column"],
  ["vanished", "vanished column"],
  ["retyped", "other type"],
  ["renamed", "renamed column"],
  ["renamed_table", "renamed table"],
  ["dropped_table", "dropped table"],
]);

function driftChange(row) {
  const [before, after] =
    row.previous_name === null
      ? [row.previous_type, row.type]
      : [row.previous_name, row.column ?? row.table];
  if (before === null && after === null) return null;
  return make(
    "span",
    { class: "change" },
    before === null ? NOTHING : nameOf(before),
    " → ",
    after === null ? NOTHING : nameOf(after),
  );
}

function driftSection() {
  const columns = [
    nameColumn("Table", (row) => row.table),
    nameColumn("Column", (row) => row.column),
    {
      label: "What",
      value: (row) => row.drift,
      show: (row) => DRIFTS.get(row.drift) ?? nameOf(row.drift),
    },
    { label: "Before → after", value: (row) => row.type, show: driftChange, isFixed: true },
    ageColumn("Committed", (row) => row.committed_at, "When the source committed it"),
    {
      label: "Place",
      value: (row) => row.topic,
      show: (row) =>
        make(
          "span",
          { class: "place" },
          nameOf(row.topic),
          ` / ${row.partition} / ${count(row.offset)}`,
        ),
      help: "Topic, partition and offset",
    },
    {
      label: "Statement",
      value: (row) => row.ddl,
      show: (row) =>
        row.ddl === null ? null : make("code", { class: "ddl" }, visibleLines(row.ddl)),
      isFixed: true,
    },
  ];
  return [
    tableOr("No source table has changed its columns since its first message.", {
      caption: "Changes of columns and tables in the sources",
      what: "changes",
      columns,
      rows: report.drift,
      sort: "Committed",
      isDown: true,
    }),
  ];
}
