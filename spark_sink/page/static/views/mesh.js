// The mesh: one sentence on its health, what is missing over time, alerts, a map, and the nodes that hear each other.

import { LineChart, pngButton } from "../charts.js";
import { card, facts, h, setText } from "../dom.js";
import { count, many, span, time } from "../format.js";
import { Sections } from "../sections.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";

const LEVELS = { alarm: 0, warning: 1 };
const PARTS = [
  { name: "map", half: true, load: () => import("./map.js") },
  { name: "graph", half: true, load: () => import("./topology.js") },
  { name: "links", title: "Links", about: "which node hears which, how well; when the mesh split and joined", load: () => import("./links.js") },
];

export const title = () => "Mesh";

export const show = (root, context) => begin(new MeshTab(root, context));

/** Level, what is wrong, since when. */
function alertCell(row) {
  const open = row.until_us === null;
  const lasted = open ? ["since ", time(row.since_us)] : [time(row.since_us), `, for ${span(row.until_us - row.since_us)}`];
  return h("div", { class: `alert${open ? "" : " done"}` }, h("span", { class: `badge ${open ? row.level : ""}`, text: open ? row.level : "over" }), h("div", {}, h("p", { text: row.text }), h("p", { class: "soft" }, ...lasted)));
}

class MeshTab {
  constructor(root, context) {
    this.context = context;
    this.drawn = null;
    this.facts = h("div", { class: "summary" });
    this.curve = card({ id: "convergence", title: "Missing copies", sub: "Every node should have a copy of every message. Copies still missing in the whole mesh." });
    const box = h("div", { class: "chart" });
    this.curve.body.append(box);
    this.chart = new LineChart(box, {
      label: "Copies still missing in the whole mesh, over time",
      series: [{ label: "missing", fill: true, steps: true }],
      value: (n) => `${many(n, "copy", "copies")} missing`,
      empty: "A line appears here once nodes have written messages. Try: tinyssb publish \"hello\"",
      onrange: (from, to) => context.set({ last: null, from, to }),
    });
    const csv = (table) => csvLink(() => context.csv("/api/overview", { table }));
    this.curve.tools.append(pngButton(() => this.chart.canvas(), "missing-copies", () => "Copies still missing in the whole mesh"), csv("convergence"));
    this.alerts = card({ id: "alerts", title: "Alerts", sub: "Open alerts, then those that ended in this range.", tools: [csv("alerts")] });
    this.alertTable = new Table({
      caption: "Alerts",
      key: (row) => `${row.rule} ${row.subject} ${row.since_us}`,
      empty: "All is quiet. Here you would see that a node is out of contact, its radio is down, its clock is wrong, or its airtime is used up.",
      columns: [{ key: "text", label: "what", head: true, className: "wrap", text: (row) => JSON.stringify(row), cell: alertCell }],
    });
    this.alerts.body.append(this.alertTable.element);
    root.append(this.facts, h("div", { class: "grid" }, this.curve.element, this.alerts.element));
    this.sections = new Sections(root, context, PARTS);
  }

  async update(change) {
    await Promise.all([this.overview(change), this.sections.update(change)]);
  }

  async overview({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load("/api/overview");
    if (data === this.drawn) return;
    this.drawn = data;
    this.head(data);
    this.alertTable.set([...data.alerts].sort((a, b) => (a.until_us !== null) - (b.until_us !== null) || LEVELS[a.level] - LEVELS[b.level] || b.since_us - a.since_us));
    this.line(data);
  }

  head(data) {
    const { totals } = data;
    this.context.heading(data.sentence, { level: data.level === "good" ? null : data.level, windowTitle: totals.behind ? `${count(totals.behind)} missing` : "✓ Mesh" });
    const stopped = totals.nodes - totals.running;
    const rows = [
      ["nodes", stopped ? `${count(totals.nodes)}, ${count(stopped)} stopped` : count(totals.nodes), "/nodes"],
      ["messages", count(totals.entries), "/messages"],
      ["copies missing", totals.behind ? `${count(totals.behind)} at ${many(totals.behind_nodes, "node")}` : "none", "/messages"],
      ...["forks", "gaps", "oddities"].filter((name) => totals[name]).map((name) => [{ gaps: "gaps in logs", oddities: "skipped files" }[name] ?? name, count(totals[name]), "/nodes?open=faults"]),
      totals.bad_lines ? ["unreadable lines", count(totals.bad_lines), "/nodes?open=faults"] : null,
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
    this.sections.close();
  }
}
