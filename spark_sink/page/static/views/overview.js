// Overview: one sentence on the mesh's health, how far it has converged, alerts, every node, the latest entries.

import { LineChart, pngButton } from "../charts.js";
import { card, facts, h, messageLink, nodeLink, setText } from "../dom.js";
import { bytes, clock, count, dayTime, isAhead, many, moment, offset, percent, ppm, recordAge, span, time } from "../format.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";

const HOUR_US = 3_600e6;
const DOTS_MAX = 12;
const LEVELS = { alarm: 0, warning: 1 };

export const title = () => "Overview";

export const show = (root, context) => begin(new Overview(root, context));

/** Bar of how much of what the law allows was sent in the last hour, with both as numbers. */
export function airtimeCell(node) {
  const share = node.airtime_us / HOUR_US;
  if (!node.limit_ppm) return h("span", {}, percent(share), h("span", { class: "soft", text: " no limit" }));
  const used = share / (node.limit_ppm / 1e6);
  const bar = h("i", { class: `used${used > 1 ? " beyond" : used > 0.8 ? " near" : ""}`, "aria-hidden": "true" }, h("b"));
  bar.firstChild.style.width = `${Math.min(100, used * 100)}%`;
  return h("span", { class: "share" }, bar, h("span", {}, percent(share), h("span", { class: "soft", text: ` of ${ppm(node.limit_ppm)}` })));
}

export const airtimeText = (node) => `${node.airtime_us}/${node.limit_ppm}`;

/** What a node is doing, in a word or two: [text, class]. */
export function nodeState(node, asOfUs) {
  if (!node.running) return [`stopped ${dayTime(node.last_us)}`, "warn"];
  if (node.isolated_since_us) return [`alone since ${dayTime(node.isolated_since_us)}`, "warn"];
  if (!asOfUs) return ["running", ""];
  const ageUs = asOfUs - node.last_us;
  return [recordAge(ageUs), isAhead(ageUs) ? "warn" : ""];
}

function dot(node) {
  const name = !node.running ? "stopped" : node.isolated_since_us ? "isolated" : "running";
  return h("span", { class: `state ${name}`, role: "img", "aria-label": name, title: name });
}

/** Columns of the nodes' table; `asOf()` is the newest record's time. */
export const nodeColumns = (asOf) => [
  { key: "node", label: "node", head: true, value: (row) => row.label, text: (row) => `${row.label}${row.running}${row.isolated_since_us}`, cell: (row) => h("span", {}, dot(row), nodeLink(row)) },
  { key: "behind", label: "behind", num: true, title: "entries it lacks", value: (row) => row.behind, text: (row) => count(row.behind), className: (row) => (row.behind ? "warn" : "") },
  { key: "median", label: "delay, median", num: true, title: "from publication to arrival; half of the copies arrived sooner", value: (row) => row.delay_median_us, text: (row) => span(row.delay_median_us), tip: (row) => (row.delay_count ? `of ${many(row.delay_count, "copy", "copies")}` : "nothing arrived from others in this range") },
  { key: "p95", label: "p95", num: true, title: "95 of 100 copies arrived sooner", value: (row) => row.delay_p95_us, text: (row) => span(row.delay_p95_us) },
  { key: "airtime", label: "airtime, last hour", title: "airtime in the last hour, as a share of what the law allows", value: (row) => row.airtime_us, text: airtimeText, cell: airtimeCell, tip: (row) => [row.region, row.sub_band, row.window_us ? `in any ${span(row.window_us)}` : null].filter(Boolean).join(", ") },
  { key: "clock", label: "clock", num: true, title: "its clock minus mesh time", value: (row) => (row.clock_offset_us === null ? null : Math.abs(row.clock_offset_us)), text: (row) => offset(row.clock_offset_us), tip: clockTip },
  { key: "last", label: "last record", num: true, value: (row) => row.last_us, text: (row) => nodeState(row, asOf())[0], className: (row) => nodeState(row, asOf())[1], tip: (row) => moment(row.last_us) },
];

function clockTip(row) {
  if (row.clock_offset_us === null || row.clock_offset_us === undefined) return "not related to the others’ clocks yet: too few packets heard in common";
  const parts = [`± ${span(row.clock_error_us)}`];
  if (row.clock_drift_ppm !== null && row.clock_drift_ppm !== undefined) parts.push(`drifts ${row.clock_drift_ppm.toFixed(1)} ppm`);
  return parts.join(", ");
}

function reachCell(entry, nodes, total) {
  const held = new Set(entry.held_by);
  const everywhere = held.size >= total;
  const dots = nodes.length <= DOTS_MAX
    ? h("span", { class: "dots", "aria-hidden": "true" }, ...nodes.map((node) => h("i", { class: held.has(node.node) ? "mark-held" : "mark-lacks" })))
    : null;
  return h("span", { class: "reach" }, dots, h("span", { class: everywhere ? "" : "warn", text: `${count(held.size)} of ${count(total)}` }));
}

function lacking(entry, nodes) {
  const held = new Set(entry.held_by);
  const names = nodes.filter((node) => !held.has(node.node)).map((node) => node.label);
  if (!names.length) return "at every node";
  const rest = names.length - 8;
  return `not yet at ${names.slice(0, 8).join(", ")}${rest > 0 ? ` and ${many(rest, "other")}` : ""}`;
}

/** Level, what is wrong, since when. */
function alertCell(row) {
  const open = row.until_us === null;
  const lasted = open ? ["since ", time(row.since_us)] : [time(row.since_us), `, for ${span(row.until_us - row.since_us)}`];
  return h("div", { class: `alert${open ? "" : " done"}` }, h("span", { class: `badge ${open ? row.level : ""}`, text: open ? row.level : "over" }), h("div", {}, h("p", { text: row.text }), h("p", { class: "soft" }, ...lasted)));
}

class Overview {
  constructor(root, context) {
    this.context = context;
    this.drawn = null;
    this.facts = h("div", { class: "summary" });
    this.curve = card({ id: "convergence", title: "Convergence", sub: "Copies still missing in the whole mesh." });
    const box = h("div", { class: "chart" });
    this.curve.body.append(box);
    this.chart = new LineChart(box, {
      label: "Copies still missing in the whole mesh, over time",
      series: [{ label: "missing", fill: true, steps: true }],
      value: (n) => `${many(n, "copy", "copies")} missing`,
      empty: "Nothing to draw in this range yet.",
      onrange: (from, to) => context.set({ last: null, from, to }),
    });
    this.curve.tools.append(pngButton(() => this.chart.canvas(), "convergence", () => "Copies still missing in the whole mesh"));
    this.alerts = card({ id: "alerts", title: "Alerts", sub: "Open alerts, then those that ended in this range." });
    this.alertTable = this.alertsTable();
    this.alerts.body.append(this.alertTable.element);
    this.nodes = card({ id: "nodes", title: "Nodes", wide: true, sub: "Delay is from publication to arrival. Clocks are corrected as far as packets that several nodes heard allow." });
    this.nodeTable = new Table({ caption: "Nodes", columns: nodeColumns(() => this.drawn?.as_of_us), key: (row) => row.node, sort: "-behind", empty: "No node has been read yet.", state: this.sorting("nodes") });
    this.nodes.body.append(this.nodeTable.element);
    for (const [name, made] of [["convergence", this.curve], ["alerts", this.alerts], ["nodes", this.nodes]]) made.tools.append(this.csv(name));
    this.recent = card({ id: "recent", title: "Latest entries", wide: true, sub: "The latest entries, and how many nodes have them." });
    this.recentTable = this.entriesTable();
    this.recent.body.append(this.recentTable.element);
    this.recent.tools.append(this.csv("recent"));
    root.append(this.facts, h("div", { class: "grid" }, this.curve.element, this.alerts.element, this.nodes.element, this.recent.element));
  }

  csv(table) {
    return csvLink(() => this.context.csv("/api/overview", { table }));
  }

  /** Keeps how a table is sorted in the address. */
  sorting(name) {
    return { get: () => this.context.get(`sort-${name}`), set: (text) => this.context.set({ [`sort-${name}`]: text }, { replace: true }) };
  }

  alertsTable() {
    return new Table({
      caption: "Alerts",
      key: (row) => `${row.rule} ${row.subject} ${row.since_us}`,
      empty: "No alert is open, and none ended in this range.",
      columns: [{ key: "text", label: "what", head: true, className: "wrap", text: (row) => JSON.stringify(row), cell: alertCell }],
    });
  }

  entriesTable() {
    const nodes = () => this.drawn.nodes;
    const total = () => this.drawn.totals.nodes;
    const everywhere = (row) => row.held_by.length >= total() && row.reached_us !== null;
    return new Table({
      caption: "Latest entries",
      key: (row) => `${row.feed}/${row.seq}`,
      empty: "Nothing published in this range.",
      columns: [
        { key: "entry", label: "entry", head: true, value: (row) => row.label, text: (row) => `${row.label} #${row.seq}`, cell: (row) => messageLink(row, row.seq), tip: (row) => `message id ${row.id ?? "unknown"}` },
        { key: "size", label: "size", num: true, className: "minor", value: (row) => row.size, text: (row) => (row.chunks ? `${bytes(row.size)}, ${many(row.chunks, "chunk")}` : bytes(row.size)) },
        { key: "published", label: "published", num: true, value: (row) => row.t_us, text: (row) => `${row.t_us}`, cell: (row) => time(row.t_us, (us) => this.when(us)), tip: (row) => (row.publisher === null ? "first seen then; its publisher’s log was not read" : "") },
        { key: "reach", label: "arrived at", value: (row) => row.held_by.length, text: (row) => row.held_by.join(), cell: (row) => reachCell(row, nodes(), total()), tip: (row) => lacking(row, nodes()) },
        { key: "took", label: "took", num: true, title: "until the last node had it", value: (row) => (everywhere(row) ? row.reached_us - row.t_us : null), text: (row) => (everywhere(row) ? span(row.reached_us - row.t_us) : "–"), tip: (row) => (everywhere(row) ? "" : "not everywhere yet") },
      ],
      sort: null,
    });
  }

  /** Today's entries by the time of day, older ones with their day. */
  when(us) {
    const now = new Date(this.drawn.as_of_us / 1000).toDateString();
    return new Date(us / 1000).toDateString() === now ? clock(us) : dayTime(us);
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load("/api/overview");
    if (data === this.drawn) {
      if (kind === "query") this.nodeTable.draw();
      return;
    }
    this.drawn = data;
    this.head(data);
    this.nodeTable.set(data.nodes);
    this.recentTable.set(data.recent);
    this.alertTable.set([...data.alerts].sort((a, b) => (a.until_us !== null) - (b.until_us !== null) || LEVELS[a.level] - LEVELS[b.level] || b.since_us - a.since_us));
    const hidden = data.hidden?.nodes ?? 0;
    setText(this.nodes.footer, hidden ? `${many(hidden, "more node")} not shown: those least behind.` : "");
    this.line(data);
  }

  head(data) {
    const { totals } = data;
    this.context.heading(data.sentence, { level: data.level === "good" ? null : data.level, windowTitle: totals.behind ? `${count(totals.behind)} behind` : "✓ Overview" });
    const stopped = totals.nodes - totals.running;
    const rows = [
      ["nodes", stopped ? `${count(totals.nodes)}, ${count(stopped)} stopped` : count(totals.nodes), "/topology"],
      ["feeds", count(totals.feeds), "/feeds"],
      ["entries", count(totals.entries), null],
      ["entries behind", totals.behind ? `${count(totals.behind)} on ${many(totals.behind_nodes, "node")}` : "none", "/feeds"],
      ...["forks", "gaps", "oddities"].filter((name) => totals[name]).map((name) => [name, count(totals[name]), "/faults"]),
      totals.bad_lines ? ["unreadable lines", count(totals.bad_lines), "/faults"] : null,
    ];
    const key = JSON.stringify(rows);
    if (key === this.key) return;
    this.key = key;
    this.facts.replaceChildren(facts(rows.map((row) => row && [row[0], row[2] ? h("a", { href: row[2], text: row[1] }) : row[1]])));
  }

  line(data) {
    const points = data.convergence;
    this.chart.set(points.map(([us]) => us), points.map(([, missing]) => missing));
    if (points.length < 2) {
      setText(this.curve.footer, "");
      return;
    }
    const most = points.reduce((top, [, missing]) => Math.max(top, missing), 0);
    const now = points[points.length - 1][1];
    const period = `in ${span(points[points.length - 1][0] - points[0][0])}`;
    const state = now === 0 ? "Nothing missing now" : `${many(now, "copy", "copies")} missing now`;
    setText(this.curve.footer, most === 0 ? `Nothing missing ${period}.` : `${state}; at most ${count(most)} ${period}. Drag to look at a part.`);
  }

  close() {
    this.chart.close();
  }
}
