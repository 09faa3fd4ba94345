// The time range: kept in the address (`last=6h`, or `from=…&to=…` in microseconds, and `at=…`), chosen with a picker.

import { h } from "./dom.js";
import { dayTime } from "./format.js";

const HOUR_US = 3_600e6;
const DAY_US = 24 * HOUR_US;
const MINUTE_US = 60e6;

/** Ranges that end with the newest record: name → length, null is everything. */
export const LASTS = { "1h": HOUR_US, "6h": 6 * HOUR_US, "24h": DAY_US, "7d": 7 * DAY_US, "30d": 30 * DAY_US, all: null };
const NAMES = { "1h": "last hour", "6h": "last 6 hours", "24h": "last 24 hours", "7d": "last 7 days", "30d": "last 30 days", all: "everything" };
const DEFAULT = "24h";

const whole = (text) => (text !== null && /^\d{1,17}$/.test(text) ? Number(text) : null);

/** {last, from, to, at} out of the query; what cannot be read counts as not there. */
export function readRange(query) {
  const from = whole(query.get("from"));
  const to = whole(query.get("to"));
  const last = query.get("last");
  const fixed = from !== null || to !== null;
  return { last: fixed ? null : Object.hasOwn(LASTS, last ?? "") ? last : DEFAULT, from, to, at: whole(query.get("at")) };
}

/**
 * Parameters of a request. Ranges that end with the newest record begin at a whole minute before it; without a choice
 * the server takes the last 24 hours by itself.
 */
export function apiRange(range, asOfUs) {
  if (range.last === null) return { from: range.from, to: range.to };
  if (range.last === DEFAULT) return {};
  if (range.last === "all") return { from: 0 };
  return asOfUs === null ? {} : { from: Math.floor((asOfUs - LASTS[range.last]) / MINUTE_US) * MINUTE_US };
}

/** Whether the request cannot be made before the newest record's time is known. */
export const needsAsOf = (range) => range.last !== null && range.last !== DEFAULT && range.last !== "all";

/** The range as a reader says it. */
export function rangeWords(range) {
  if (range.last !== null) return NAMES[range.last];
  return `${range.from === null ? "the beginning" : dayTime(range.from)} – ${range.to === null ? "now" : dayTime(range.to)}`;
}

const twoDigits = (n) => String(n).padStart(2, "0");

function fieldValue(us) {
  if (us === null) return "";
  const date = new Date(us / 1000);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}T${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

const fieldUs = (field) => (field.value ? new Date(field.value).getTime() * 1000 : null);

/** The picker: a list of lengths, and two moments. `onchoose({last, from, to})` with nulls for what leaves the address. */
export class RangePicker {
  constructor(target, onchoose) {
    this.onchoose = onchoose;
    this.select = h(
      "select",
      { "aria-label": "Time range", onchange: () => this.chosen() },
      ...Object.entries(NAMES).map(([value, text]) => h("option", { value, text })),
      h("option", { value: "fixed", text: "from … to …" }),
    );
    this.from = h("input", { type: "datetime-local", "aria-label": "From, local time" });
    this.to = h("input", { type: "datetime-local", "aria-label": "To, local time" });
    const apply = h("button", { type: "submit", class: "tool", text: "Show" });
    this.form = h("form", { class: "moments", hidden: true, onsubmit: (event) => this.applied(event) }, this.from, h("span", { text: "–" }), this.to, apply);
    target.replaceChildren(this.select, this.form);
  }

  set(range, asOfUs) {
    this.asOfUs = asOfUs;
    const value = range.last ?? "fixed";
    if (this.form.contains(document.activeElement) || (this.select.value === "fixed" && document.activeElement === this.select)) return;
    this.select.value = value;
    this.form.hidden = value !== "fixed";
    if (value === "fixed") {
      this.from.value = fieldValue(range.from);
      this.to.value = fieldValue(range.to);
    }
  }

  chosen() {
    const value = this.select.value;
    this.form.hidden = value !== "fixed";
    if (value !== "fixed") {
      this.onchoose({ last: value === DEFAULT ? null : value, from: null, to: null });
      return;
    }
    const end = this.asOfUs ?? Date.now() * 1000;
    this.from.value ||= fieldValue(end - DAY_US);
    this.to.value ||= fieldValue(end);
    this.from.focus();
  }

  applied(event) {
    event.preventDefault();
    const from = fieldUs(this.from);
    const to = fieldUs(this.to);
    const wrong = from !== null && to !== null && from >= to;
    this.to.setCustomValidity(wrong ? "The end must be later than the beginning." : "");
    if (wrong) this.to.reportValidity();
    else this.onchoose({ last: null, from, to });
  }
}
