// A table that can be sorted and is kept up to date in place: only cells whose text changed are touched.

import { h, setText } from "./dom.js";
import { count } from "./format.js";

const AT_FIRST = 40; // rows: two screens; hundreds would cost every live update more time than a frame has
const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Unknown values stand last, whichever way the rows are sorted. */
function compare(a, b, sign) {
  const noA = a === null || a === undefined;
  const noB = b === null || b === undefined;
  if (noA || noB) return noA - noB;
  return sign * (typeof a === "string" ? COLLATOR.compare(a, b) : a - b);
}

/**
 * columns: [{key, label, title?, num?, className?, head?, value(row), text?(row), cell?(row), tip?(row)}]
 *   value  what is sorted by;  text  what is shown (default: the value);  cell  an element in place of the text
 *   (made again only if `text` changed);  tip  hover text;  head: the row's heading (once);  className: text or row → text
 * key(row) names a row; sort: "key" or "-key"; state: {get, set} keeps the choice elsewhere (the address);
 * empty: what is said when there are no rows. Of a long table the first rows are shown, and all on demand.
 */
export class Table {
  constructor({ caption, columns, key, sort = null, empty = "Nothing to show.", state = null, className = "plain", rowClass = null }) {
    Object.assign(this, { columns, key, empty, state, sort, rowClass });
    this.rows = [];
    this.whole = false;
    this.drawn = new Map();
    this.heads = columns.map((column) => this.head(column));
    this.body = h("tbody");
    this.table = h("table", { class: className }, h("caption", { class: "unseen", text: caption }), h("thead", {}, h("tr", {}, ...this.heads)), this.body);
    this.none = h("p", { class: "nothing", text: empty, hidden: true });
    this.more = h("button", { type: "button", class: "tool more", hidden: true, onclick: () => this.unfold() });
    this.element = h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, this.table, this.none, this.more);
  }

  head(column) {
    const sorted = h("button", { type: "button", class: "sort", title: column.title ?? null, text: column.label, onclick: () => this.choose(column) });
    return h("th", { scope: "col", class: this.classOf(column, null) }, column.value ? sorted : h("span", { title: column.title ?? null, text: column.label }));
  }

  classOf(column, row) {
    const more = typeof column.className === "function" ? (row === null ? "" : column.className(row)) : column.className ?? "";
    return `${column.num ? "num" : ""} ${more}`.trim();
  }

  get sorting() {
    const text = this.state?.get() ?? this.sort;
    if (!text) return null;
    const down = text.startsWith("-");
    const column = this.columns.find((one) => one.key === (down ? text.slice(1) : text) && one.value);
    return column ? { column, sign: down ? -1 : 1 } : null;
  }

  choose(column) {
    const now = this.sorting;
    const up = now?.column === column ? now.sign < 0 : !column.num;
    this.sort = `${up ? "" : "-"}${column.key}`;
    this.state?.set(this.sort);
    this.draw();
  }

  /** Shows these rows. */
  set(rows) {
    this.rows = rows;
    this.draw();
  }

  unfold() {
    this.whole = !this.whole;
    this.draw();
  }

  draw() {
    const now = this.sorting;
    this.columns.forEach((column, index) => {
      const wanted = now?.column === column ? (now.sign > 0 ? "ascending" : "descending") : null;
      if (wanted) this.heads[index].setAttribute("aria-sort", wanted);
      else this.heads[index].removeAttribute("aria-sort");
    });
    const all = now ? [...this.rows].sort((a, b) => compare(now.column.value(a), now.column.value(b), now.sign)) : this.rows;
    const rows = this.whole ? all : all.slice(0, AT_FIRST);
    this.none.hidden = all.length > 0;
    this.table.hidden = all.length === 0;
    this.more.hidden = all.length <= AT_FIRST;
    setText(this.more, this.whole ? `Show the first ${AT_FIRST} only` : `Show all ${count(all.length)} rows`);
    const seen = new Set();
    let place = this.body.firstElementChild;
    for (const row of rows) {
      const key = this.key(row);
      seen.add(key);
      const element = this.rowOf(key, row);
      if (element === place) place = place.nextElementSibling;
      else this.body.insertBefore(element, place);
    }
    for (const [key, { element }] of this.drawn) {
      if (seen.has(key)) continue;
      element.remove();
      this.drawn.delete(key);
    }
  }

  rowOf(key, row) {
    const drawn = this.drawn.get(key) ?? this.freshRow(key);
    if (this.rowClass) drawn.element.className = this.rowClass(row);
    this.columns.forEach((column, index) => this.fill(column, drawn.cells[index], drawn.texts, index, row));
    return drawn.element;
  }

  freshRow(key) {
    const cells = this.columns.map((column) => (column.head ? h("th", { scope: "row" }) : h("td")));
    const drawn = { element: h("tr", {}, ...cells), cells, texts: [] };
    this.drawn.set(key, drawn);
    return drawn;
  }

  fill(column, cell, texts, index, row) {
    const shown = column.text ? column.text(row) : column.value(row);
    const text = shown === null || shown === undefined ? "–" : String(shown);
    if (texts[index] !== text) {
      texts[index] = text;
      if (column.cell) cell.replaceChildren(column.cell(row));
      else setText(cell, text);
    }
    const name = this.classOf(column, row);
    if (cell.className !== name) cell.className = name;
    const tip = column.tip?.(row) ?? "";
    if (cell.title !== tip) cell.title = tip;
  }
}

/** Link that saves the same rows as CSV; `address()` is asked when it is used. */
export function csvLink(address) {
  const link = h("a", { class: "tool", href: address(), download: true, title: "These figures as comma-separated values", text: "CSV" });
  for (const kind of ["pointerdown", "focus"]) link.addEventListener(kind, () => { link.href = address(); });
  return link;
}
