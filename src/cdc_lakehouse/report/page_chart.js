// Charts of messages over time, drawn by uPlot in the colours of the page.

const FONT = "12px system-ui, sans-serif";
const FEWEST = 3; // spans that a chart draws; of fewer the sentence says all
const SPANS = 2000; // that are drawn with the empty ones between them

const charts = new Set();

/** Forget the charts that are no longer on the page. */
function dropCharts() {
  for (const chart of charts) if (chart.wasShown && !chart.element.isConnected) chart.drop();
}

const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Add up the messages of some partitions by span, from their first span to their last. */
function spansOf(partitions) {
  const found = new Map();
  for (const partition of partitions) {
    const counts = partition.counts ?? [];
    for (let at = 0; at < counts.length; at += 3) {
      const span = found.get(counts[at]) ?? [0, 0];
      found.set(counts[at], [span[0] + counts[at + 1], span[1] + counts[at + 2]]);
    }
  }
  const numbers = [...found.keys()].sort((one, other) => one - other);
  const [first, last] = [numbers[0], numbers[numbers.length - 1]];
  const all =
    last - first < SPANS ? Array.from({ length: last - first + 1 }, (_, n) => first + n) : numbers;
  return (numbers.length ? all : []).map((number) => {
    const [messages, rejected] = found.get(number) ?? [0, 0];
    return { began: report.first_span + number * report.span_seconds, messages, rejected };
  });
}

const DAYS = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const clock = (at, digits) => new Date(at * 1000).toISOString().slice(11, 11 + digits);
const day = (at) => DAYS.format(at * 1000);

/** Say a span as `5 Nov 12:00–13:00`. */
function spanText({ began }) {
  const ended = began + report.span_seconds;
  const digits = report.span_seconds % 60 || began % 60 ? 8 : 5;
  const end =
    day(began) === day(ended) ? clock(ended, digits) : `${day(ended)} ${clock(ended, digits)}`;
  return `${day(began)} ${clock(began, digits)}–${end}`;
}

/** Label an axis of times: the clock, and below it the day where it changes. */
function timeLabels(_, splits, axis, space, step) {
  let before = null;
  return splits.map((at) => {
    const today = day(at);
    const isNew = today !== before;
    before = today;
    if (step >= 86400) return today;
    return clock(at, step < 60 ? 8 : 5) + (isNew ? `\n${today}` : "");
  });
}

/** A chart of the messages that landed, and of those among them that were rejected. */
class Chart {
  constructor(label, height) {
    Object.assign(this, { label, height, spans: [], plot: null, wasShown: false });
    this.canvas = make("div", { class: "canvas", role: "img" });
    this.reading = make("p", { class: "reading" });
    this.numbers = make("details", null, make("summary", null, "Numbers of this chart"));
    this.numbers.addEventListener("toggle", () => this.#drawNumbers());
    this.empty = note("No message landed in the time that this chart shows.");
    this.element = make(
      "div",
      { class: "chart" },
      this.#key(),
      this.canvas,
      this.reading,
      this.numbers,
      this.empty,
    );
    this.observer = new ResizeObserver(() => this.#fit());
    this.observer.observe(this.canvas);
    charts.add(this);
  }

  #key() {
    const item = (kind, text) => make("span", null, make("i", { class: kind }), text);
    return make(
      "p",
      { class: "key", "aria-hidden": "true" },
      item("landed", "Landed"),
      item("rejected", "Rejected"),
    );
  }

  /** Draw these spans. */
  show(spans) {
    this.spans = spans;
    this.element.classList.toggle("is-empty", !spans.length);
    this.element.classList.toggle("is-short", spans.length < FEWEST);
    this.canvas.setAttribute("aria-label", `${this.label}. ${this.#summary()}`);
    this.#read(null);
    this.#drawNumbers();
    this.#draw();
  }

  /** Draw again, in the colours that the page has now. */
  redraw() {
    this.plot?.destroy();
    this.plot = null;
    this.#draw();
  }

  drop() {
    this.observer.disconnect();
    this.plot?.destroy();
    charts.delete(this);
  }

  #draw() {
    this.wasShown ||= this.element.isConnected;
    if (this.spans.length < FEWEST || !this.canvas.clientWidth) return;
    const data = ["began", "messages", "rejected"].map((name) =>
      this.spans.map((span) => span[name]),
    );
    if (this.plot) this.plot.setData(data);
    else this.plot = new uPlot(this.#options(), data, this.canvas);
  }

  #fit() {
    const width = this.canvas.clientWidth;
    if (this.plot && width && width !== this.plot.width)
      this.plot.setSize({ width, height: this.height });
    else if (!this.plot) this.#draw();
  }

  #options() {
    const line = colour("line");
    const axis = { stroke: colour("soft"), font: FONT, ticks: { stroke: line, width: 1, size: 4 } };
    const series = (name) => ({
      label: name,
      fill: colour(name),
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 1 }),
    });
    return {
      width: this.canvas.clientWidth,
      height: this.height,
      padding: [8, 20, 0, 0],
      legend: { show: false },
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => this.#range() },
        y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 42, values: timeLabels },
        {
          ...axis,
          grid: { stroke: line, width: 1 },
          size: 52,
          incrs: [1, 2, 5]
            .flatMap((n) => Array.from({ length: 16 }, (_, e) => n * 10 ** e))
            .sort((a, b) => a - b),
          values: (_, splits) => splits.map((value) => SHORT_NUMBERS.format(value)),
        },
      ],
      series: [{}, series("landed"), series("rejected")],
      hooks: {
        setCursor: [(plot) => this.#read(plot.cursor.idx)],
        draw: [(plot) => this.#mark(plot)],
      },
    };
  }

  /** From the first span to the moment of the report, if that is not far behind the last. */
  #range() {
    const first = this.spans[0].began;
    const ended = this.spans[this.spans.length - 1].began + report.span_seconds;
    const isNear = report.made_at - ended < 3 * (ended - first);
    return [first, isNear ? Math.max(ended, report.made_at) : ended];
  }

  /** Mark the spans with few rejected messages too, which would be less than a pixel. */
  #mark(plot) {
    const { ctx, bbox } = plot;
    const pixels = devicePixelRatio;
    ctx.save();
    ctx.fillStyle = colour("rejected");
    for (const { began, rejected } of this.spans) {
      if (!rejected) continue;
      const left = plot.valToPos(began, "x", true);
      const width = plot.valToPos(began + report.span_seconds, "x", true) - left;
      ctx.fillRect(
        left,
        bbox.top + bbox.height - 3 * pixels,
        Math.max(2 * pixels, width - pixels),
        3 * pixels,
      );
    }
    ctx.restore();
  }

  #summary() {
    if (!this.spans.length) return "No message landed.";
    const add = (name) => this.spans.reduce((sum, span) => sum + span[name], 0);
    const most = this.spans.reduce((best, span) => (span.messages > best.messages ? span : best));
    const spans = `${counted(this.spans.length, "span")} of ${duration(report.span_seconds)}`;
    const landed = `${counted(add("messages"), "message")} landed in ${spans}`;
    const peak = `most in ${spanText(most)} UTC: ${count(most.messages)}`;
    return `${landed}, ${count(add("rejected"))} rejected; ${peak}.`;
  }

  #read(place) {
    const span = place === null || place === undefined ? null : this.spans[place];
    const said = span
      ? `${spanText(span)} UTC: ${count(span.messages)} landed, ${count(span.rejected)} rejected.`
      : this.#summary();
    this.reading.textContent = said;
  }

  #drawNumbers() {
    if (!this.numbers.open) return;
    const columns = [
      { label: "Time (UTC)", value: (span) => span.began, show: spanText },
      numberColumn("Landed", (span) => span.messages),
      numberColumn("Rejected", (span) => span.rejected),
    ];
    if (this.table) this.table.show(this.spans);
    else {
      this.table = new Table({ caption: this.label, what: "spans", columns, rows: this.spans });
      this.numbers.append(this.table.element);
    }
  }
}

/** Draw all charts again when the page changes its colours. */
function redrawCharts() {
  dropCharts();
  for (const chart of charts) chart.redraw();
}
