// Tables that sort by their headings, show some of their rows at a time, and can open a row.

const COLLATOR = new Intl.Collator("en", { numeric: true });
const DRAWN = 25; // rows at a time, if nothing else is said

function compared(one, other) {
  return typeof one === "string" ? COLLATOR.compare(one, other) : one - other;
}

/** Return rows by what `value` finds in them; those without a value come last. */
function sorted(rows, value, isDown) {
  const isEmpty = (found) => found === null || found === undefined;
  const found = rows.map((row) => [value(row), row]);
  const known = found.filter(([key]) => !isEmpty(key));
  known.sort(([one], [other]) => (isDown ? compared(other, one) : compared(one, other)));
  return [...known, ...found.filter(([key]) => isEmpty(key))].map(([, row]) => row);
}

/** The buttons that leaf through rows, and the words that say which of them are shown. */
class Pager {
  constructor(what, size, draw) {
    Object.assign(this, { what, size, draw, first: 0, total: 0 });
    const button = (text, label, step) =>
      make(
        "button",
        { type: "button", "aria-label": label, onclick: () => this.#move(step) },
        text,
      );
    this.previous = button("Previous", `Previous ${what}`, -size);
    this.next = button("Next", `Next ${what}`, size);
    this.words = make("span", { class: "which" });
    this.element = make(
      "div",
      { class: "pager", role: "group", "aria-label": `Pages of ${what}` },
      this.previous,
      this.next,
      this.words,
    );
  }

  #move(step) {
    this.first += step;
    this.draw();
    say(this.words.textContent);
  }

  /** Return the part of `rows` that is to be shown. */
  part(rows) {
    this.total = rows.length;
    this.first = Math.max(
      0,
      Math.min(this.first, Math.floor((this.total - 1) / this.size) * this.size),
    );
    const shown = rows.slice(this.first, this.first + this.size);
    const which = `${count(this.first + 1)}–${count(this.first + shown.length)}`;
    this.words.textContent = `${which} of ${count(this.total)} ${this.what}`;
    this.previous.disabled = this.first === 0;
    this.next.disabled = this.first + this.size >= this.total;
    this.element.hidden = this.total <= this.size;
    return shown;
  }
}

/**
 * A table. A column has a `label`, a `value` to sort by, and perhaps a `show` (a node or a text;
 * else the value), a `title` on hover, `help` on its heading, a `kind` ("number" or another
 * class), `isFixed` if nobody would sort by it. `detail` makes what an opened row shows;
 * one that has `parts` shows these, as rows beneath it.
 */
class Table {
  constructor({ caption, what, columns, rows, sort, isDown, detail, nameRow, pageSize, isOpen }) {
    Object.assign(this, {
      columns,
      rows,
      detail,
      nameRow,
      sort: sort ?? null,
      isDown: isDown ?? false,
    });
    this.open = new Set(isOpen ? rows : []);
    this.body = make("tbody");
    this.headings = columns.map((column) => this.#heading(column));
    const head = make("thead", null, make("tr", null, this.headings));
    this.table = make(
      "table",
      null,
      make("caption", { class: "unseen" }, caption),
      head,
      this.body,
    );
    this.pager = new Pager(what, pageSize ?? DRAWN, () => this.draw());
    this.element = make(
      "div",
      { class: "table" },
      make("div", { class: "scroll" }, this.table),
      this.pager.element,
    );
    this.draw();
  }

  #heading(column) {
    const click = () => this.#sortBy(column);
    const shown = column.isFixed
      ? make("span", { class: column.kind === "graph" ? "unseen" : null }, column.label)
      : make("button", { type: "button", title: column.help, onclick: click }, column.label);
    return make(
      "th",
      { scope: "col", class: column.kind, title: column.isFixed ? column.help : null },
      shown,
    );
  }

  #sortBy(column) {
    this.isDown = this.sort === column.label ? !this.isDown : column.kind === "number";
    this.sort = column.label;
    this.pager.first = 0;
    this.draw();
    say(`Sorted by ${column.label}, ${this.isDown ? "descending" : "ascending"}.`);
  }

  /** Show other rows, from the first. */
  show(rows) {
    this.rows = rows;
    this.pager.first = 0;
    this.draw();
  }

  draw() {
    for (const [place, { label }] of this.columns.entries()) {
      const order = this.isDown ? "descending" : "ascending";
      if (label === this.sort) this.headings[place].setAttribute("aria-sort", order);
      else this.headings[place].removeAttribute("aria-sort");
    }
    const rows = this.pager.part(this.#inOrder(this.rows));
    this.body.replaceChildren(...rows.flatMap((row) => this.#rowsOf(row)));
    dropCharts();
  }

  #inOrder(rows) {
    const by = this.columns.find((column) => column.label === this.sort);
    return by ? sorted(rows, by.value, this.isDown) : rows;
  }

  #rowsOf(row) {
    const element = make(
      "tr",
      { class: this.detail ? (row.isPart ? "opens beneath" : "opens") : null },
      this.columns.map((column, place) => this.#cell(column, row, place)),
    );
    if (!this.detail) return [element];
    const button = make("button", {
      type: "button",
      class: "open",
      "aria-label": `Details of ${this.nameRow(row)}`,
    });
    element.firstChild.prepend(button);
    const beneath = row.parts ? ".beneath, .detail" : ".detail";
    const turn = (isOpen) => {
      button.setAttribute("aria-expanded", String(isOpen));
      this.open[isOpen ? "add" : "delete"](row);
      const opened = isOpen ? this.#opened(row) : [];
      for (const one of opened) one.id ||= newId();
      if (isOpen) button.setAttribute("aria-controls", opened.map(({ id }) => id).join(" "));
      else button.removeAttribute("aria-controls");
      return opened;
    };
    button.addEventListener("click", () => {
      while (element.nextSibling?.matches(beneath)) element.nextSibling.remove();
      element.after(...turn(!this.open.has(row)));
      dropCharts();
    });
    return [element, ...turn(this.open.has(row))];
  }

  #opened(row) {
    if (row.parts) return this.#inOrder(row.parts).flatMap((part) => this.#rowsOf(part));
    const inside = make("div", { class: "opened" }, this.detail(row));
    return [make("tr", { class: "detail" }, make("td", { colspan: this.columns.length }, inside))];
  }

  #cell(column, row, place) {
    const shown = column.show ? column.show(row) : column.value(row);
    const text =
      column.kind === "number" && typeof shown === "number" ? count(shown) : (shown ?? NOTHING);
    const isNone = text === NOTHING || text === "0";
    const attributes = {
      class: [column.kind, isNone ? "is-none" : null].filter(Boolean).join(" ") || null,
      title: column.title?.(row),
    };
    if (place === 0) return make("th", { scope: "row", ...attributes }, text);
    return make("td", attributes, text);
  }
}

/** Return a table as an element, or the sentence that says why there is none. */
function tableOr(empty, settings) {
  return settings.rows.length ? new Table(settings).element : note(empty);
}

// Columns that several tables have.
const nameColumn = (label, value, help) => ({
  label,
  value,
  help,
  show: (row) => (value(row) === null ? null : nameOf(value(row))),
});
const numberColumn = (label, value, help) => ({ label, value, help, kind: "number" });
const ageColumn = (label, value, help) => ({
  label,
  value,
  help,
  kind: "number",
  show: (row) => age(value(row)),
  title: (row) => timeOf(value(row)),
});
const delayColumn = (label, value, help) => ({
  label,
  value,
  help,
  kind: "number",
  show: (row) => duration(value(row)),
  title: (row) => secondsOf(value(row)),
});
const secondsOf = (seconds) => (seconds === null ? null : `${count(seconds)} s`);
