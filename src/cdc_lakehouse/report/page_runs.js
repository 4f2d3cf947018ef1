// The last runs: when which of their steps was at work.

const PARTS = 24; // that are drawn; the table has all
const LABELLED = 0.045; // of the time of the run; the bar of a shorter step has no room for its name

/** Put the steps of a part into as few lanes as keep those apart that overlap. */
function lanesOf(steps) {
  const lanes = [];
  for (const step of sorted(steps, (one) => one.began, false)) {
    const free = lanes.find((lane) => ended(lane[lane.length - 1]) <= step.began + 0.0005);
    if (free) free.push(step);
    else lanes.push([step]);
  }
  return lanes;
}

const ended = (step) => step.began + step.seconds;

/** Return round times from 0 to `seconds`, at most seven. */
function ticks(seconds) {
  const steps = [
    0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200,
    86400,
  ];
  const step = steps.find((one) => seconds / one <= 6) ?? seconds / 4;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, n) => n * step);
}

function stepText(step) {
  const moved = [
    step.rows_read || step.bytes_read
      ? `read ${counted(step.rows_read, "row")} (${size(step.bytes_read)})`
      : null,
    step.rows_written || step.bytes_written
      ? `wrote ${counted(step.rows_written, "row")} (${size(step.bytes_written)})`
      : null,
  ];
  return [
    `${visible(step.part)}, ${visible(step.name)}`,
    `${duration(step.seconds)}, from ${duration(step.began)}`,
    ...moved.filter(Boolean),
  ].join("\n");
}

function stepBar(step, seconds) {
  const name = step.seconds > LABELLED * seconds ? visible(step.name) : "";
  const element = make("span", { class: "step", title: stepText(step) }, name);
  element.style.left = `${(100 * step.began) / seconds}%`;
  element.style.width = `${(100 * step.seconds) / seconds}%`;
  return element;
}

function partRow(part, steps, seconds) {
  const lanes = lanesOf(steps).map((lane) =>
    make(
      "div",
      { class: "lane" },
      lane.map((step) => stepBar(step, seconds)),
    ),
  );
  return make(
    "div",
    { class: "part" },
    make("div", { class: "part-name" }, nameOf(part)),
    make("div", { class: "lanes" }, lanes),
  );
}

function scaleRow(seconds) {
  const marks = ticks(seconds).map((at) => {
    const mark = make("span", null, at ? duration(at) : "0 s");
    mark.style.left = `${(100 * at) / seconds}%`;
    return mark;
  });
  return make(
    "div",
    { class: "part scale" },
    make("div", { class: "part-name" }),
    make("div", { class: "lanes" }, marks),
  );
}

/** Draw the parts that took longest, in the order in which they began. */
function timeLine(run) {
  const seconds = Math.max(run.seconds, largest(run.steps, ended), 0.001);
  const parts = [...grouped(run.steps, (step) => step.part)];
  const longest = sorted(parts, ([, steps]) => total(steps, "seconds"), true).slice(0, PARTS);
  const drawn = sorted(
    longest,
    ([, steps]) => steps.reduce((first, step) => Math.min(first, step.began), Infinity),
    false,
  );
  const times = longest
    .slice(0, 5)
    .map(([part, steps]) => `${visible(part)} ${duration(total(steps, "seconds"))}`);
  const title = `Time line of ${visible(run.command)}, ${duration(run.seconds)}`;
  const label = `${title}. Longest: ${times.join(", ")}.`;
  // The longest steps of a part, so that a part of thousands stays small.
  const shown = drawn.map(([part, steps]) =>
    partRow(part, sorted(steps, (step) => step.seconds, true).slice(0, 20), seconds),
  );
  const rest = `The ${PARTS} parts that took longest are drawn; the table has all.`;
  return [
    make("div", { class: "time-line", role: "img", "aria-label": label }, scaleRow(seconds), shown),
    parts.length > PARTS ? note(rest) : null,
  ];
}

function stepsTable(run) {
  const columns = [
    nameColumn("Part", (step) => step.part),
    nameColumn("Step", (step) => step.name),
    {
      ...delayColumn("Began after", (step) => step.began),
      show: (step) => (step.began ? duration(step.began) : "0 s"),
    },
    delayColumn("Took", (step) => step.seconds),
    numberColumn("Rows read", (step) => step.rows_read),
    {
      ...numberColumn("Bytes read", (step) => step.bytes_read),
      show: (step) => size(step.bytes_read),
    },
    numberColumn("Rows written", (step) => step.rows_written),
    {
      ...numberColumn("Bytes written", (step) => step.bytes_written),
      show: (step) => size(step.bytes_written),
    },
  ];
  return new Table({
    caption: `Steps of ${visible(run.command)}`,
    what: "steps",
    columns,
    rows: run.steps,
    sort: "Took",
    isDown: true,
  }).element;
}

/** Show the steps as a table once somebody asks for them. */
function stepsFold(run) {
  const fold = make(
    "details",
    null,
    make("summary", null, `${counted(run.steps.length, "step")} as a table`),
  );
  fold.addEventListener("toggle", () => fold.append(stepsTable(run)), { once: true });
  return fold;
}

function runsSection() {
  if (!report.runs.length) return [note("No ingest and no dbt run has recorded its times yet.")];
  return sorted(report.runs, (run) => run.began_at, true).map((run) =>
    make(
      "article",
      { class: "run" },
      make("h3", null, nameOf(run.command.replaceAll("-", " "))),
      make(
        "p",
        { class: "about" },
        `Began `,
        make("span", { title: utc(run.began_at) }, age(run.began_at)),
        `, took ${duration(run.seconds)}.`,
      ),
      run.steps.length ? [...timeLine(run), stepsFold(run)] : note("This run had no steps."),
    ),
  );
}
