// What is stored: gold tables, source tables with and without one, and files.

function problemItem(problem) {
  const where = problem.column === null ? "row" : nameOf(problem.column);
  const first =
    problem.first_text === null
      ? []
      : [", first: ", make("code", null, shortened(visible(problem.first_text)))];
  return make(
    "li",
    null,
    where,
    `: ${visible(problem.code)}, ${count(problem.problems)}`,
    ...first,
  );
}

function goldTables() {
  const columns = [
    nameColumn("Table", (row) => row.table),
    numberColumn("Rows", (row) => row.rows),
    ageColumn(
      "Last change",
      (row) => row.changed_at,
      "The commit in the source of its latest change",
    ),
    numberColumn(
      "Problems",
      (row) => total(row.problems, "problems"),
      "Values that do not fit their column",
    ),
    {
      label: "By column",
      value: () => null,
      show: (row) =>
        row.problems.length
          ? make("ul", { class: "problems" }, row.problems.map(problemItem))
          : null,
      isFixed: true,
    },
  ];
  return tableOr(
    "There is no gold table yet. `lakehouse add-table --all` writes a model for each source table.",
    {
      caption: "Gold tables",
      what: "gold tables",
      columns,
      rows: report.gold_tables,
      sort: "Problems",
      isDown: true,
    },
  );
}

function sourceTables() {
  const columns = [
    nameColumn("Source table", (row) => row.table),
    numberColumn("Changes", (row) => row.changes),
    numberColumn(
      "Late",
      (row) => row.late_changes,
      "Changes that came after an earlier run had processed a later change of their table",
    ),
    numberColumn("Duplicates", (row) => row.duplicates),
    ageColumn(
      "Last change",
      (row) => row.committed_at,
      "The commit in the source of its latest change",
    ),
    ageColumn("Processed", (row) => row.processed_at),
    delayColumn(
      "Delay",
      (row) => row.delay_seconds,
      "From the commit of the latest change to its processing",
    ),
    {
      label: "Gold model",
      value: (row) => (row.has_model ? 1 : 0),
      show: (row) => (row.has_model ? "yes" : command(`lakehouse add-table ${quoted(row.table)}`)),
    },
  ];
  return tableOr("No message of a source table has been processed yet.", {
    caption: "Source tables",
    what: "source tables",
    columns,
    rows: report.source_tables,
    sort: "Gold model",
  });
}

function goldSection() {
  const missing = report.source_tables.filter((row) => !row.has_model).length;
  const all =
    missing > 1 ? ["; ", command("lakehouse add-table --all"), " adds all that it can"] : [];
  return [
    goldTables(),
    make("h3", null, "Source tables"),
    missing
      ? make(
          "p",
          null,
          `${counted(missing, "source table has", "source tables have")} no gold model`,
          ...all,
          ".",
        )
      : null,
    sourceTables(),
  ];
}

function storageSection() {
  // What the lakehouse keeps for itself, and has nothing of, tells nothing.
  const rows = report.stored.filter((row) => row.rows || row.table.startsWith("gold"));
  const most = largest(rows, (row) => row.bytes);
  const columns = [
    nameColumn("Table", (row) => row.table),
    numberColumn("Rows", (row) => row.rows),
    numberColumn("Files", (row) => row.files),
    {
      ...numberColumn("Bytes", (row) => row.bytes),
      show: (row) => size(row.bytes),
      title: (row) => `${count(row.bytes)} bytes`,
    },
    {
      label: "Bar",
      value: (row) => row.bytes,
      show: (row) => bar(row.bytes, most),
      kind: "graph",
      isFixed: true,
    },
    {
      ...numberColumn("Per file", (row) => (row.files ? row.bytes / row.files : null)),
      show: (row) => (row.files ? size(row.bytes / row.files) : NOTHING),
    },
  ];
  const files = `${counted(total(rows, "files"), "file")} and ${size(total(rows, "bytes"))}`;
  const tables = counted(rows.length, "table");
  const about = `${tables} with ${files}, without files that vacuum will remove.`;
  return [
    rows.length ? make("p", null, about) : null,
    tableOr("No table of this lakehouse has files yet.", {
      caption: "Files and bytes by table",
      what: "tables",
      columns,
      rows,
      sort: "Bytes",
      isDown: true,
    }),
  ];
}
