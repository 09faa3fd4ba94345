// Airtime: how near each node is to the legal limit, over time, and the use of its airtime.

import { card, h, nodeLink, setText } from "../dom.js";
import { LineChart, pngButton } from "../charts.js";
import { many, percent, ppm, span } from "../format.js";
import { byKind, kindName, USES } from "../kinds.js";
import { lawWords } from "../lists.js";
import { Gauge, stack } from "../stack.js";
import { Sections } from "../sections.js";
import { begin, nothing } from "../states.js";
import { csvLink, Table } from "../table.js";

const PATH = "/api/airtime";
const LINES_MAX = 6;
const HOUR_US = 3_600e6;
const PARTS = [
  { name: "gossip", title: "Requests and replies", about: "what nodes asked for, and which replies were of use", load: () => import("./gossip.js") },
  { name: "packets", title: "Single packets", about: "as they are logged, the newest first", load: () => import("./packets.js") },
];
const COLOURS = { news: "s1", repair: "s2", redundant: "s3", unheard: "s5", overhead: "s6" };

export const title = () => "Airtime";

const keyOf = (row) => `${row.node} ${row.face}`;
const named = (row) => `${row.label}, ${row.face}`;
const ofLimit = (value, row) => (row.limit_ppm ? value / row.limit_ppm : null);

export const show = (root, context) => begin(new Airtime(root, context));

class Airtime {
  constructor(root, context) {
    this.context = context;
    this.gauges = new Map();
    this.talkers = card({ id: "talkers", title: "Airtime by node", wide: true, tools: [csvLink(() => context.csv(PATH))] });
    this.table = this.makeTable();
    this.talkers.body.append(this.table.element);
    this.talkers.footer.className = "legend";
    this.history = card({ id: "history", title: "Near the limit", wide: true, tools: [pngButton(() => this.chart?.canvas(), "airtime", () => "Airtime in the preceding window, as a share of what the law allows")] });
    this.chartBox = h("div", { class: "chart" });
    this.history.body.append(this.chartBox);
    this.history.footer.className = "legend";
    this.uses = card({ id: "uses", title: "What the airtime was used for" });
    this.kinds = card({ id: "kinds", title: "By kind of packet" });
    root.append(h("div", { class: "grid" }, this.talkers.element, this.history.element, this.uses.element, this.kinds.element));
    this.sections = new Sections(root, context, PARTS);
  }

  makeTable() {
    const { context } = this;
    const limited = (row, value) => (row.limit_ppm ? `${percent(ofLimit(value, row))} of it` : ppm(value));
    const columns = [
      { key: "node", label: "node", head: true, value: named, cell: (row) => h("span", {}, nodeLink(row), h("span", { class: "soft", text: ` ${row.face}` })) },
      { key: "airtime", label: "on the air", num: true, value: (row) => row.airtime_us, text: (row) => span(row.airtime_us), tip: (row) => many(row.packets_n, "packet") },
      { key: "gauge", label: "of what the law allows", className: "gauge-cell", text: keyOf, cell: (row) => this.gauge(row).element },
      { key: "fullest", label: "fullest window", num: true, title: "the window in which it sent most", value: (row) => ofLimit(row.fullest_ppm, row) ?? -1, text: (row) => limited(row, row.fullest_ppm), className: (row) => level(row) },
      { key: "now", label: "last window", num: true, value: (row) => ofLimit(row.now_ppm, row) ?? -1, text: (row) => limited(row, row.now_ppm) },
      { key: "law", label: "the law", value: (row) => row.limit_ppm, text: lawWords },
      { key: "uses", label: "good for", className: "bars", text: (row) => JSON.stringify(row.uses), cell: useBar },
    ];
    return new Table({
      caption: "Airtime by node", columns, key: keyOf, sort: "-airtime", empty: "A row appears here for each radio that sends. No radio sent in this period; links without airtime, such as Wi-Fi, are not counted.",
      state: { get: () => context.get("sort"), set: (sort) => context.set({ sort }, { replace: true }) },
    });
  }

  gauge(row) {
    if (!this.gauges.has(keyOf(row))) this.gauges.set(keyOf(row), new Gauge());
    return this.gauges.get(keyOf(row));
  }

  async update(change) {
    await Promise.all([this.airtime(change), this.sections.update(change)]);
  }

  async airtime({ kind }) {
    if (kind === "theme") return;
    const body = await this.context.load(PATH);
    const hidden = body.hidden.nodes ? ` ${many(body.hidden.nodes, "node")} that sent less ${body.hidden.nodes === 1 ? "is" : "are"} left out.` : "";
    const cost = body.cost_us === null ? "" : ` Each of ${many(body.delivered, "copy", "copies")} that came to somebody cost ${span(body.cost_us)}.`;
    setText(this.talkers.sub, body.nodes.length ? `${span(body.airtime_us)} on the air in all.${cost}${hidden}` : "");
    for (const row of body.nodes) {
      this.gauge(row).update({ now: row.now_ppm, most: row.fullest_ppm, limit: row.limit_ppm, label: `${named(row)}: last window ${ppm(row.now_ppm)}, fullest ${ppm(row.fullest_ppm)}, allowed ${row.limit_ppm === null ? "without limit" : ppm(row.limit_ppm)}` });
    }
    this.table.set(body.nodes);
    this.talkers.footer.replaceChildren(...(body.nodes.length ? [glyph("gauge-key-now", "last window"), glyph("gauge-key-most", "fullest window"), glyph("gauge-key-limit", "legal limit"), h("span", { class: "then", text: "Good for:" }), ...useKeys(body)] : []));
    this.drawUses(body);
    this.drawKinds(body);
    await this.drawHistory(body);
  }

  async drawHistory(body) {
    const shown = body.nodes.filter((row) => row.limit_ppm).sort((a, b) => ofLimit(b.fullest_ppm, b) - ofLimit(a.fullest_ppm, a)).slice(0, LINES_MAX);
    setText(this.history.sub, shown.length ? `Airtime in the window before each moment, in per cent of what the law allows in it${body.nodes.length > shown.length ? `; the ${shown.length} nearest to it` : ""}. At 100 % a node must be silent.` : "");
    const names = shown.map(keyOf).join();
    if (this.drawn !== names) {
      this.chart?.close();
      this.chartBox.replaceChildren();
      this.drawn = names;
      this.chart = new LineChart(this.chartBox, {
        label: "Airtime in the window before each moment, in per cent of the legal limit",
        empty: "No face with a limit used airtime in more than one slot of ten minutes.",
        series: [...shown.map((row, at) => ({ label: named(row), colour: `--s${at + 1}`, dash: at % 2 ? [6, 3] : undefined })), { label: "legal limit", colour: "--bad", dash: [2, 4], width: 2.5 }],
        value: (share) => percent(share), axis: (share) => `${Math.round(share * 100)} %`, top: 1.12,
        onrange: (from, to) => this.context.set({ last: null, from: Math.floor(from), to: Math.ceil(to) }),
      });
      const keys = [...shown.map((row, at) => [`line-${at + 1}`, named(row)]), ["line-limit", "legal limit"]];
      this.history.footer.replaceChildren(...(shown.length ? keys.map(([name, text]) => glyph(`stroke ${name}`, text)) : []));
    }
    const { times, values } = windows(shown, body.slot_us);
    await this.chart.set(times, ...values, times.map(() => 1));
  }

  drawUses(body) {
    const sums = add(body.nodes.map((row) => row.uses));
    const total = Object.values(sums).reduce((a, b) => a + b, 0);
    if (total === 0) {
      this.uses.body.replaceChildren(nothing("Not known yet: it is computed hour by hour, from all logs together."));
      return;
    }
    const rows = USES.map(([use, name, words]) => bar(name, words, sums[use] ?? 0, total, COLOURS[use]));
    const useful = (sums.news ?? 0) + (sums.repair ?? 0);
    setText(this.uses.sub, `${percent(useful / total)} of the airtime was of use to a receiver.`);
    this.uses.body.replaceChildren(bars("What airtime was used for", "use", rows));
  }

  drawKinds(body) {
    const sums = add(body.nodes.map((row) => row.packets));
    const total = Object.values(sums).reduce((a, b) => a + b, 0);
    if (total === 0) {
      this.kinds.body.replaceChildren(nothing("Nothing was sent on a face that costs airtime."));
      return;
    }
    const rows = Object.keys(sums).sort(byKind).map((kind) => bar(kindName(kind), "", sums[kind], total, "s1"));
    setText(this.kinds.sub, "Share of the airtime.");
    this.kinds.body.replaceChildren(bars("Airtime by kind of packet", "kind", rows));
  }

  close() {
    this.chart?.close();
    this.sections.close();
  }
}

const level = (row) => (!row.limit_ppm || row.fullest_ppm < 0.8 * row.limit_ppm ? "" : row.fullest_ppm > row.limit_ppm ? "bad" : "warn");
const glyph = (name, text) => h("span", { class: "key" }, h("i", { class: `swatch ${name}` }), text);

function useBar(row) {
  const total = Object.values(row.uses).reduce((a, b) => a + b, 0);
  const parts = USES.map(([use, name]) => ({ class: `kind-${COLOURS[use]}`, share: total ? (row.uses[use] ?? 0) / total : 0, title: `${percent((row.uses[use] ?? 0) / (total || 1))} ${name}` }));
  return stack(parts, total ? `${row.label}: ${parts.filter((part) => part.share > 0).map((part) => part.title).join(", ")}` : `${row.label}: not known yet`);
}

function useKeys(body) {
  const some = add(body.nodes.map((row) => row.uses));
  return USES.filter(([use]) => some[use] > 0).map(([use, name]) => glyph(`kind-${COLOURS[use]}`, name));
}

function add(objects) {
  const sums = {};
  for (const one of objects) for (const [key, value] of Object.entries(one)) sums[key] = (sums[key] ?? 0) + value;
  return sums;
}

const bar = (name, words, us, total, colour) => h("tr", {},
  h("th", { scope: "row" }, name, words ? h("span", { class: "hint", text: words }) : null),
  h("td", { class: "bars" }, stack([{ class: `kind-${colour}`, share: us / total, title: span(us) }], `${name}: ${percent(us / total)}`)),
  h("td", { class: "num", text: percent(us / total) }),
  h("td", { class: "num", text: span(us) }));

const bars = (caption, what, rows) => h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, h("table", { class: "plain bar-table" }, h("caption", { class: "unseen", text: caption }),
  h("thead", {}, h("tr", {}, ...[[what, ""], ["", "bars"], ["share", "num"], ["on the air", "num"]].map(([text, name]) => (text ? h("th", { scope: "col", class: name, text }) : h("td", {}))))),
  h("tbody", {}, ...rows)));

/** For each slot, what the window that ends with it holds, as a share of the limit; null before a node's first slot. */
function windows(rows, slotUs) {
  const slot = (us) => Math.round(us / slotUs);
  const maps = rows.map((row) => new Map(row.slots.map(([us, airtime]) => [slot(us), airtime])));
  const all = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort((a, b) => a - b);
  if (all.length === 0) return { times: [], values: rows.map(() => []) };
  const apart = all.length > 1 ? Math.min(...all.slice(1).map((at, index) => at - all[index])) : 1;
  const times = [];
  for (let at = all[0]; at <= all.at(-1); at += apart) times.push(at);
  const values = rows.map((row, index) => times.map((at) => {
    const wide = Math.max(1, Math.ceil((row.window_us ?? HOUR_US) / slotUs));
    const allowed = wide * slotUs * (row.limit_ppm / 1e6);
    // Where only the fullest slot of each stretch is known, it stands for all of the window.
    if (apart >= wide) return ((maps[index].get(at) ?? 0) * wide) / allowed;
    let sum = 0;
    for (let back = 0; back < wide && at - back >= all[0]; back += apart) sum += maps[index].get(at - back) ?? 0;
    return (sum * Math.min(apart, wide)) / allowed;
  }));
  return { times: times.map((at) => (at + 1) * slotUs), values };
}
