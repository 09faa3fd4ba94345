// The last week by the hour, from the node's own event log: bars, the sums in words, and a table by day.

import { ApiError, get } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { locale, t, tn } from "/static/language.js";
import { bars } from "/static/plot.js";
import { duration, number, size } from "/static/words.js";

const HOUR_US = 3_600_000_000;
const EVERY_MS = 60_000;
const READING_MS = 1_000; // while the node still reads its log, a piece at each question
const weekday = new Intl.DateTimeFormat(locale, { weekday: "short" });
const day = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short" });

/** Figures: a title, and the columns that a bar is made of, each with the words around its sum. */
const CHARTS = [
  { title: t("Entries stored"), words: number.format, parts: [["others", t("{value} from neighbours")], ["own", t("{value} written here")]] },
  { title: t("Airtime"), words: duration, parts: [["heard_us", t("{value} of packets heard")], ["sent_us", t("{value} of packets sent")]] },
  { title: t("Packets heard"), words: number.format, parts: [["new", t("{value} told something new")], ["known", t("{value} told nothing new")]] },
  { title: t("Written to the disk"), words: size, parts: [["stored_bytes", t("{value} for entries")], ["log_bytes", t("{value} for the event log")]] },
];
const said = (text, value) => text.replace("{value}", value).trim();

export class History {
  constructor() {
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.list = h("ul", { class: "cards" });
    this.element = h("section", { class: "cards", "aria-label": t("The last week") }, h("h2", { text: t("The last week") }), this.about, this.list);
    this.nextMs = -Infinity;
  }

  close() {
    clearTimeout(this.timer);
  }

  /** Shows the week, once a minute; once a second until the log is read. */
  async refresh() {
    if (performance.now() < this.nextMs) return;
    this.nextMs = performance.now() + EVERY_MS;
    clearTimeout(this.timer);
    try {
      this.draw(await get("/api/history"));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, `${error.message} ${error.hint}`);
    }
  }

  draw(found) {
    const reading = found.read < 1;
    if (reading) {
      this.nextMs = performance.now() + READING_MS;
      this.timer = setTimeout(() => this.refresh(), READING_MS);
    }
    const silent = found.log_bytes.filter((bytes) => !bytes).length;
    const off = silent ? ` ${tn(silent, "In {n} hour of the week the log has no records: the node was off, or its log begins later.", "In {n} hours of the week the log has no records: the node was off, or its log begins later.")}` : "";
    const done = Math.floor(100 * found.read);
    setText(this.about, reading ? t("The node reads its event log: {percent} % is done, the last hours first.", { percent: done }) : `${t("By the hour, from the node’s event log.")}${off}`);
    const marks = midnights(found.first_us, found.log_bytes.length);
    const shown = CHARTS.filter(({ parts }) => parts.some(([name]) => found[name].some(Boolean)));
    const open = new Set([...this.list.querySelectorAll("details[open]")].map((one) => one.dataset.chart));
    this.list.replaceChildren(...shown.map((chart) => card(chart, found, marks, open)));
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Returns the hours at which a day begins here. */
function midnights(firstUs, hours) {
  const all = Array.from({ length: hours }, (_one, hour) => hour);
  return all.filter((hour) => new Date((firstUs + hour * HOUR_US) / 1_000).getHours() === 0);
}

function card({ title, parts, words }, found, marks, open) {
  const series = parts.map(([name]) => found[name]);
  const most = Math.max(...series[0].map((_one, hour) => series.reduce((total, values) => total + values[hour], 0)));
  const keys = parts.map(([, text], at) => h("span", { class: "key" }, h("i", { class: `swatch part-${at}` }), said(text, words(sum(series[at])))));
  return h(
    "li",
    { class: "card" },
    h("h3", { text: title }),
    h("p", { class: "keys" }, ...keys, h("span", { class: "soft", text: t("at most {value} in an hour", { value: words(most) }) })),
    bars(series, marks),
    axis(found, marks),
    h("details", { "data-chart": title, open: open.has(title) }, h("summary", { text: t("By day") }), table(title, parts, words, found, marks)),
  );
}

/** Returns the names of the days under the bars. */
function axis(found, marks) {
  const hours = found.log_bytes.length;
  const names = marks.filter((hour) => hour < hours - 12).map((hour) => {
    const name = h("span", { text: weekday.format(new Date((found.first_us + hour * HOUR_US) / 1_000)) });
    name.style.insetInlineStart = `${((100 * hour) / hours).toFixed(2)}%`;
    return name;
  });
  return h("div", { class: "axis", "aria-hidden": "true" }, ...names);
}

function table(title, parts, words, found, marks) {
  const hours = found.log_bytes.length;
  const begins = [...new Set([0, ...marks])];
  const rows = begins.map((from, at) => {
    const to = begins[at + 1] ?? hours;
    return h("tr", {}, h("th", { scope: "row", text: day.format(new Date((found.first_us + from * HOUR_US) / 1_000)) }), ...parts.map(([name]) => h("td", { text: words(sum(found[name].slice(from, to))) })));
  });
  return h("table", { class: "days", "aria-label": t("{title} by day", { title }) }, h("thead", {}, h("tr", {}, h("th", { scope: "col", text: t("Day") }), ...parts.map(([, text]) => h("th", { scope: "col", text: said(text, "") })))), h("tbody", {}, ...rows.reverse()));
}
