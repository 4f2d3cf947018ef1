// The overview: whether all is well, the figures of the whole, and what should be looked at.

const FINDINGS = 20; // at a time

function findingItem(finding) {
  const subject =
    finding.topic === null
      ? nameOf(finding.subject)
      : make(
          "button",
          {
            type: "button",
            class: "link",
            title: "Show this topic",
            onclick: () => report.choose(finding.topic),
          },
          nameOf(finding.subject),
        );
  return make(
    "li",
    null,
    make(
      "p",
      { class: "subject" },
      subject,
      make("span", { class: "tag", title: "The limit in seeds/limits.csv" }, nameOf(finding.limit)),
    ),
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
  return report.problems.length
    ? ["is-warned", "This report is incomplete"]
    : ["is-good", "All is well"];
}

function figure(label, value, more, kind) {
  return make(
    "div",
    { class: kind ?? null },
    make("dt", null, label),
    make("dd", null, make("strong", null, value), make("span", null, more)),
  );
}

function figures() {
  const { partitions, gold_tables: gold } = report;
  const [messages, rejected, waiting] = ["messages", "rejected", "unprocessed"].map((field) =>
    total(partitions, field),
  );
  const topics = new Set(partitions.map((partition) => partition.topic)).size;
  return make(
    "dl",
    { class: "figures" },
    figure("Topics", count(topics), counted(partitions.length, "partition")),
    figure(
      "Messages",
      count(messages),
      `${counted(total(partitions, "row_changes"), "row change")}`,
    ),
    figure(
      "Rejected",
      count(rejected),
      `${share(rejected, messages)} of the messages`,
      rejected ? "has-bad" : null,
    ),
    figure("Waiting", count(waiting), "messages to be processed"),
    figure("Gold tables", count(gold.length), counted(total(gold, "rows"), "row")),
  );
}

function overviewSection() {
  const [kind, title] = status();
  byId("status").textContent = title;
  byId("status").className = kind;
  byId("first-line").append(visible(report.first_line));
  const unread = report.problems.map((problem) => make("li", null, prose(problem)));
  return [
    make("p", { class: "about" }, aboutStatus()),
    figures(),
    unread.length
      ? make(
          "div",
          { class: "unread" },
          make("p", null, "These parts could not be read, so the report has gaps:"),
          make("ul", null, unread),
        )
      : null,
    report.findings.length ? findingList(report.findings) : null,
  ];
}

const AGES = "Ages are counted back from the moment of the report.";

function aboutStatus() {
  if (report.findings.length) return `These are beyond a limit in seeds/limits.csv. ${AGES}`;
  if (report.problems.length)
    return "Nothing that could be read is beyond a limit in seeds/limits.csv.";
  return `Nothing is beyond a limit in seeds/limits.csv. ${AGES}`;
}
