// The fault wall: alerts on a time axis, faults by node, single incidents, and the parts of logs that were not counted.

import { card, feedLink, h, messageLink, nodeLink, setText } from "../dom.js";
import { count, dayTime, many, shortId, span, time } from "../format.js";
import { incidentWords } from "../lists.js";
import { begin, nothing } from "../states.js";
import { long } from "../stack.js";
import { csvLink, Table } from "../table.js";

const PATH = "/api/faults";
const WALL_MAX = 40;
const STEPS = [1, 3, 10, 30]; // where a cell of the wall gets darker
const KINDS = [["start", "started"], ["stop", "stopped"], ["clock", "clock jumped"], ["face_up", "face up"], ["face_down", "face down"], ["fork", "fork"], ["refused", "refused"]];
/** Columns of the wall: name and what one is. */
const WALL = [
  ["alerts", "alerts", "open now, or in this period"],
  ["invalid", "invalid packets", "wrong signature or hash, or unreadable"],
  ["unclean", "unclean ends", "boots after one that did not end in order"],
  ["downs", "faces down", "times that a face went down"],
  ["clock", "clock jumps", "among the latest incidents"],
  ["refused", "refused", "refused at a limit, or had to wait for airtime"],
  ["forks", "forks seen", "two entries with one sequence number of a feed"],
  ["gaps", "gaps in the log", "ranges of records that have not arrived"],
];

export const show = (root, context) => begin(new Faults(root, context));

const node = (key = "node", label = "label") => ({ key: "node", label: "node", head: true, value: (row) => row[label], cell: (row) => nodeLink({ node: row[key], label: row[label] }) });
const number = (key, label, tip) => ({ key, label, num: true, title: tip, value: (row) => row[key], text: (row) => count(row[key]) });
const words = (key, label, more = {}) => ({ key, label, value: (row) => row[key], text: (row) => row[key] || "–", ...more });
const when = { key: "t", label: "when", value: (row) => row.t_us, text: (row) => String(row.t_us), cell: (row) => time(row.t_us) };
const plain = (text) => String(text).replaceAll("_", " ");

/** [field of the answer, heading, what to do, columns, key]. */
const LISTS = [
  ["forks", "Forks", "One key signed two entries with one sequence number. Causes are a copied SD card, or a store restored from a backup. Stop one of the two devices, and give it a new identity.", [
    { key: "feed", label: "entry", head: true, value: (row) => row.label, text: (row) => `${row.feed} ${row.seq}`, cell: (row) => messageLink(row, row.seq) },
    { key: "held", label: "two entries", text: (row) => `${shortId(row.held)} and ${shortId(row.other)}`, tip: (row) => `${row.held}\n${row.other}` },
    { key: "node", label: "seen by", value: (row) => row.node_label, cell: (row) => nodeLink({ node: row.node, label: row.node_label }) }, when,
  ], (row) => `${row.feed} ${row.seq} ${row.node} ${row.t_us} ${row.other}`],
  ["invalid", "Invalid packets", "A few are noise. Many on one face: another system or an attacker sends there. Many on all faces of a node: check its antenna and its power.", [node(), words("face", "face"), words("reason", "why", { text: (row) => plain(row.reason || "–") }), number("packets", "packets")], (row) => `${row.node} ${row.face} ${row.reason}`],
  ["restarts", "Restarts", "Unclean: the boot before ended without a stop. Check the power first: a weak supply, an empty battery, a bad cable.", [node(), number("boots", "started", "boots that began in this period"), number("unclean", "after an unclean end")], (row) => row.node],
  ["flapping", "Faces that went down", "If a radio goes down often, check its cable and plug, and the system’s log for its driver.", [node(), words("face", "face"), number("downs", "times")], (row) => `${row.node} ${row.face}`],
  ["refused", "Refused or held back", "“budget” is the legal limit: send fewer or shorter messages, or use a faster setting of the radio. The others are limits of the node against overload.", [node(), words("rule", "at which limit", { text: (row) => plain(row.rule) }), number("total", "times")], (row) => `${row.node} ${row.rule}`],
  ["gaps", "Gaps in logs", "Records that have not arrived, though later ones have. Copy the node’s events folder again. The row disappears when they are read.", [node(), number("boot", "boot"), { key: "from", label: "records", num: true, value: (row) => row.first_offset, text: (row) => (row.next_offset === null ? `${count(row.first_offset)} to the end` : `${count(row.first_offset)} to ${count(row.next_offset - 1)}`) }], (row) => `${row.node} ${row.boot} ${row.first_offset}`],
  ["oddities", "Skipped files", "Their content is not in the figures. The reason says what to do with each file.", [node(), words("path", "file", { className: "wrap" }), words("reason", "why", { className: "wrap" })], (row) => `${row.node} ${row.path}`],
  ["bad_lines", "Lines that could not be read", "An incomplete last line after a power cut is harmless. If there are many, the card may be failing, or another program writes into these files.", [words("path", "file", { head: true, className: "wrap" }), number("byte", "at byte"), words("reason", "why", { className: "wrap" }), words("text", "how it begins", { className: "wrap mono" })], (row) => `${row.path} ${row.byte}`],
];

class Faults {
  constructor(root, context) {
    this.context = context;
    this.alerts = card({ id: "timeline", title: "Alerts", wide: true, tools: [csvLink(() => context.csv(PATH))] });
    this.alerts.footer.className = "legend";
    this.wall = card({ id: "wall", title: "Who has what", wide: true, sub: "Numbers for each node; the darker, the more." });
    this.incidents = card({ id: "incidents", title: "Incidents", wide: true, tools: [csvLink(() => context.csv(PATH, { table: "incidents" }))] });
    this.filters = Object.fromEntries([["node", "Node"], ["kind", "Kind"]].map(([name, label]) => [name, this.filter(name, label)]));
    this.table = this.makeIncidents();
    this.incidents.body.append(h("div", { class: "filters" }, ...Object.values(this.filters).map((one) => one.element)), this.table.element);
    this.lists = LISTS.map(([field, heading, advice, columns, key]) => {
      const frame = card({ id: `list-${field}`, title: heading, sub: advice, tools: [csvLink(() => context.csv(PATH, { table: field }))] });
      const table = new Table({ caption: heading, columns, key, empty: "None." });
      frame.body.append(table.element);
      return { field, frame, table };
    });
    this.quiet = h("p", { class: "quiet-lists" });
    root.append(h("div", { class: "grid" }, this.alerts.element, this.wall.element, this.incidents.element, ...this.lists.map((one) => one.frame.element)), this.quiet);
  }

  filter(name, label) {
    const select = h("select", { onchange: () => this.context.set({ [name]: select.value }, { replace: true }) });
    return { select, element: h("label", { class: "filter" }, h("span", { text: label }), select), texts: "" };
  }

  makeIncidents() {
    const columns = [
      { ...when, head: true },
      { key: "node", label: "node", value: (row) => row.label, cell: nodeLink },
      { key: "what", label: "what", className: "wrap", text: incidentWords },
      { key: "feed", label: "feed", value: (row) => row.feed_label, text: (row) => row.feed ?? "–", cell: (row) => feedLink({ feed: row.feed, label: row.feed_label }) },
    ];
    return new Table({ caption: "Incidents", columns, key: (row) => `${row.t_us} ${row.node} ${row.kind} ${row.face} ${row.rule} ${row.copy}`, empty: "No incident matches." });
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const body = await this.context.load(PATH);
    const open = body.alerts.filter((alert) => alert.until_us === null);
    setText(this.alerts.sub, open.length ? `${many(open.length, "alert")} open now, ${count(body.alerts.length - open.length)} over.` : body.alerts.length ? `None open now, ${count(body.alerts.length)} over.` : "");
    this.timeline(body);
    this.drawWall(body);
    this.drawIncidents(body);
    for (const { field, frame, table } of this.lists) {
      frame.element.hidden = body[field].length === 0;
      table.set(body[field]);
    }
    const none = this.lists.filter(({ field }) => body[field].length === 0).map(({ frame }) => frame.element.querySelector("h2").textContent.toLowerCase());
    setText(this.quiet, none.length ? `Nothing to report of: ${none.join(", ")}.` : "");
  }

  timeline({ alerts, from_us: from, to_us: to }) {
    if (alerts.length === 0) {
      this.alerts.body.replaceChildren(nothing("No alert in this period."));
      this.alerts.footer.replaceChildren();
      return;
    }
    const length = Math.max(1, to - from);
    const share = (us) => Math.max(0, Math.min(1, (us - from) / length));
    const rows = alerts.map((alert) => {
      const [begin, end] = [share(alert.since_us), alert.until_us === null ? 1 : share(alert.until_us)];
      const strip = long(h("i", { class: `spell ${alert.level}${alert.until_us === null ? " open" : ""}` }), Math.max(0.006, end - begin));
      strip.style.marginLeft = `${(Math.min(0.994, begin) * 100).toFixed(2)}%`;
      const lasted = alert.until_us === null ? `for ${span(to - alert.since_us)}` : `lasted ${span(alert.until_us - alert.since_us)}`;
      return h("li", { class: alert.until_us === null ? "open" : "over" },
        h("span", { class: `badge ${alert.level}`, text: alert.until_us === null ? alert.level : "over" }),
        h("p", {}, subjectLink(alert), h("span", { class: "soft" }, " since ", time(alert.since_us), `, ${lasted}`)),
        h("div", { class: "lane", "aria-hidden": "true" }, strip));
    });
    const held = this.alerts.body.querySelector("ul")?.scrollTop ?? 0;
    const list = h("ul", { class: "spells", tabindex: "0", "aria-label": "Alerts" }, ...rows);
    this.alerts.body.replaceChildren(list);
    list.scrollTop = held;
    this.alerts.footer.replaceChildren(h("span", {}, "Strips run from ", time(from), " to ", time(to), "."));
  }

  drawWall(body) {
    const rows = wallRows(body);
    const shown = rows.slice(0, WALL_MAX);
    const columns = WALL.filter(([key]) => shown.some((row) => row[key] > 0));
    if (shown.length === 0 || columns.length === 0) {
      this.wall.body.replaceChildren(nothing("No node has a fault in this period."));
      return;
    }
    const cell = (row, [key, , meaning]) => h("td", { class: `num b${row[key] ? STEPS.filter((step) => row[key] >= step).length : 0}`, title: `${row.label}: ${count(row[key])} – ${meaning}`, text: row[key] ? count(row[key]) : "·" });
    const head = h("tr", {}, h("th", { scope: "col", text: "node" }), ...columns.map(([, label, meaning]) => h("th", { scope: "col", class: "num", title: meaning, text: label })));
    const table = h("table", { class: "wall" }, h("caption", { class: "unseen", text: "Faults by node" }), h("thead", {}, head),
      h("tbody", {}, ...shown.map((row) => h("tr", {}, h("th", { scope: "row" }, nodeLink(row)), ...columns.map((column) => cell(row, column))))));
    this.wall.body.replaceChildren(h("div", { class: "scroll", role: "region", "aria-label": "Faults by node", tabindex: "0" }, table));
    setText(this.wall.footer, rows.length > shown.length ? `The ${WALL_MAX} nodes with most of it; ${count(rows.length - shown.length)} more have some.` : "");
  }

  drawIncidents({ incidents }) {
    const wanted = { node: this.context.get("node"), kind: this.context.get("kind") };
    const nodes = [...new Map(incidents.map((row) => [row.node, row.label]))].sort(([, a], [, b]) => a.localeCompare(b));
    this.fill("node", "all nodes", nodes, wanted.node);
    this.fill("kind", "all kinds", KINDS.filter(([kind]) => incidents.some((row) => row.kind === kind)), wanted.kind);
    const seen = new Map();
    const rows = incidents.filter((row) => (!wanted.node || row.node === wanted.node) && (!wanted.kind || row.kind === wanted.kind)).map((row) => {
      const name = `${row.t_us} ${row.node} ${row.kind} ${row.face} ${row.rule}`;
      seen.set(name, (seen.get(name) ?? 0) + 1);
      return { ...row, copy: seen.get(name) };
    });
    setText(this.incidents.sub, `${many(rows.length, "incident")}, the newest first.`);
    this.table.set(rows);
  }

  fill(name, all, choices, value) {
    const one = this.filters[name];
    const options = [["", all], ...choices, ...(value && !choices.some(([key]) => key === value) ? [[value, value]] : [])];
    const texts = JSON.stringify(options);
    if (one.texts !== texts && document.activeElement !== one.select) {
      one.texts = texts;
      one.select.replaceChildren(...options.map(([key, text]) => h("option", { value: key, text })));
    }
    if (one.select.value !== (value ?? "")) one.select.value = value ?? "";
  }

  close() {
    this.lists = [];
  }
}

function subjectLink(alert) {
  const path = alert.node ? `/node/${alert.node}` : alert.feed ? `/feed/${alert.feed}` : null;
  return path ? h("a", { href: path, title: `since ${dayTime(alert.since_us)}`, text: alert.text }) : h("span", { text: alert.text });
}

/** What each node has of each column, those with most kinds of trouble first. */
function wallRows(body) {
  const rows = new Map();
  const add = (id, label, key, n) => {
    if (!id || !n) return;
    if (!rows.has(id)) rows.set(id, { node: id, label, ...Object.fromEntries(WALL.map(([name]) => [name, 0])) });
    rows.get(id)[key] += n;
  };
  const names = new Map([...body.incidents, ...body.restarts, ...body.refused, ...body.invalid, ...body.gaps].map((row) => [row.node, row.label]));
  for (const alert of body.alerts) add(alert.node, names.get(alert.node) ?? alert.label, "alerts", 1);
  for (const row of body.invalid) add(row.node, row.label, "invalid", row.packets);
  for (const row of body.restarts) add(row.node, row.label, "unclean", row.unclean);
  for (const row of body.flapping) add(row.node, row.label, "downs", row.downs);
  for (const row of body.incidents) if (row.kind === "clock") add(row.node, row.label, "clock", 1);
  for (const row of body.refused) add(row.node, row.label, "refused", row.total);
  for (const row of body.forks) add(row.node, row.node_label, "forks", 1);
  for (const row of body.gaps) add(row.node, row.label, "gaps", 1);
  const kinds = (row) => WALL.filter(([key]) => row[key] > 0).length;
  const sum = (row) => WALL.reduce((total, [key]) => total + row[key], 0);
  return [...rows.values()].sort((a, b) => kinds(b) - kinds(a) || sum(b) - sum(a) || (a.node < b.node ? -1 : 1));
}
