// Elements and texts: how names, numbers, times and commands are shown.

const byId = (id) => document.getElementById(id);

/** Open the fold of a section, if it has one. */
function openFold(id) {
  const fold = byId(id)?.querySelector(".fold");
  if (fold) fold.open = true;
}

/** Make an element. Children are nodes or texts, which never become markup; null is left out. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined),
  );
  return element;
}

let lastId = 0;
const newId = () => `n${++lastId}`;

/** Tell a screen reader what has happened. */
function say(text) {
  byId("said").textContent = text;
}

// Characters that are not seen, or that turn the direction of those around them; lone surrogates.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const escaped = (character) => {
  const code = character.codePointAt(0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
};

/** Return a text of several lines with its unseen characters as escapes. */
const visibleLines = (text) => String(text).replace(UNSEEN, escaped);

/** Return a text in one line with its unseen characters as escapes. */
const visible = (text) => visibleLines(text).replace(/[\t\n]/g, escaped);

const SHOWN = 72; // characters of a name

function shortened(text) {
  if (text.length <= SHOWN) return text;
  const characters = [...text];
  return `${characters.slice(0, SHOWN - 24).join("")}…${characters.slice(-20).join("")}`;
}

/** Show the name of a topic, a table or a column; a long one in short, with all of it on hover. */
function nameOf(text) {
  const whole = visible(text);
  const short = shortened(whole);
  return make("bdi", { class: "name", title: short === whole ? null : whole }, short);
}

const NUMBERS = new Intl.NumberFormat("en-US");
const SHORT_NUMBERS = new Intl.NumberFormat("en-US", {
  notation: "compact",
  maximumFractionDigits: 1,
});
const NOTHING = "–";
const count = (value) => (value === null || value === undefined ? NOTHING : NUMBERS.format(value));

/** Say a number with its noun: `1 row`, `2 rows`. */
const counted = (value, one, many) => `${count(value)} ${value === 1 ? one : (many ?? `${one}s`)}`;

function share(part, whole) {
  const percent = whole ? (100 * part) / whole : 0;
  if (percent > 0 && percent < 0.01) return "<0.01%";
  if (percent < 100 && percent > 99.99) return ">99.99%";
  return `${Number(percent.toFixed(percent < 1 ? 2 : 1))}%`;
}

function size(bytes) {
  if (bytes === null || bytes === undefined) return NOTHING;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit && value < 10 ? value.toFixed(1) : count(Math.round(value))} ${units[unit]}`;
}

const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** Say a duration in its largest unit and, if `parts` is 2, in the next: `3 min 20 s`. */
function duration(seconds, parts = 2) {
  if (seconds === null || seconds === undefined) return NOTHING;
  if (seconds < 0) return `−${duration(-seconds, parts)}`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  let rest = Math.round(seconds);
  const said = [];
  for (const [unit, length] of UNITS) {
    const whole = Math.floor(rest / length);
    if (whole) said.push(`${count(whole)} ${unit}`);
    else if (said.length) break;
    rest -= whole * length;
    if (said.length === parts) break;
  }
  return said.join(" ");
}

/** Return a moment as `2026-11-05 12:00:00 UTC`. */
function utc(at) {
  const date = new Date(at * 1000);
  if (Number.isNaN(date.getTime())) return `${at} s since 1970`;
  return date.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

/** Say how long before the report a moment was. */
function age(at) {
  if (at === null || at === undefined) return NOTHING;
  const seconds = report.made_at - at;
  if (Math.abs(seconds) < 1) return "now";
  return seconds > 0 ? `${duration(seconds, 1)} ago` : `in ${duration(-seconds, 1)}`;
}

const timeOf = (at) => (at === null ? null : utc(at));

/** Quote a word as a shell takes it. */
const quoted = (word) =>
  /^[\w.@%+:,/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Show a command with a button that copies it. */
function command(text) {
  const code = make("code", null, visibleLines(text));
  const button = make(
    "button",
    { type: "button", class: "copy", "aria-label": `Copy: ${shortened(visible(text))}` },
    "Copy",
  );
  button.addEventListener("click", async () => {
    const done = await copied(text, code);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    say(done ? "The command is copied." : "The command is selected. Press Ctrl+C.");
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return make("span", { class: "command" }, code, button);
}

/** Copy a text, or else select the element that shows it: plain HTTP has no clipboard. */
async function copied(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

const IS_COMMAND = /^(lakehouse|dbt|make|pip) \S/;

/** Show a sentence; what is between backticks is code, and a command if it looks like one. */
function prose(text) {
  if (IS_COMMAND.test(text) && !/[`]|\.$/.test(text)) return [command(text)];
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [visible(text)];
  return parts.map((part, place) => {
    if (place % 2 === 0) return visible(part);
    return IS_COMMAND.test(part) ? command(part) : make("code", null, visible(part));
  });
}

/** Show a sentence in which what is between backticks is code. */
const codes = (text) =>
  text.split("`").map((part, place) => (place % 2 ? make("code", null, part) : part));

/** Show a remark of the page itself. */
const note = (text) => make("p", { class: "note" }, codes(text));

/** Return rows by what `value` finds in them; Map.groupBy is too young for some browsers. */
function grouped(rows, value) {
  const groups = new Map();
  for (const row of rows) {
    const key = value(row);
    if (groups.has(key)) groups.get(key).push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

const largest = (rows, value) => rows.reduce((most, row) => Math.max(most, value(row)), 0);

/** Show how large a part of a whole is, for those who see; the number stands beside it. */
function bar(part, whole, kind) {
  const filled = make("span", { class: kind ?? null });
  filled.style.width = `${whole > 0 ? Math.min(100, (100 * part) / whole) : 0}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, filled);
}

/** Show terms and what they are, as a grid of pairs. */
function pairs(items) {
  return make(
    "dl",
    { class: "pairs" },
    items.map(([term, ...shown]) =>
      make("div", null, make("dt", null, term), make("dd", null, ...shown)),
    ),
  );
}
