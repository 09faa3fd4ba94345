// Single packets as they are logged: the newest first, paused on demand, filtered by node, kind and verdict.

import { card, h, messageLink, nodeLink, setText } from "../dom.js";
import { bytes, clock, count, decibels, many, moment, span } from "../format.js";
import { byKind, kindName, VERDICT_NAMES, verdictName } from "../kinds.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";

const PATH = "/api/packets";
const KEPT = 2_000; // as many as the server has
const SHOWN = 150;
const AT_ONCE = 500;

export const show = (root, context) => begin(new Packets(root, context));

class Packets {
  constructor(root, context) {
    this.context = context;
    this.rows = [];
    this.held = null; // the rows shown when the table was paused
    this.pause = h("button", { type: "button", class: "tool", "aria-pressed": "false", text: "Pause", onclick: () => this.hold() });
    this.filters = Object.fromEntries([["node", "Node"], ["kind", "Kind"], ["verdict", "Verdict"]].map(([name, label]) => [name, this.filter(name, label)]));
    this.card = card({ id: "packets", title: "Latest packets", wide: true, tools: [this.pause, csvLink(() => context.csv(PATH, { limit: KEPT }))] });
    this.table = this.makeTable();
    this.card.body.append(h("div", { class: "filters" }, ...Object.values(this.filters).map((one) => one.element)), this.table.element);
    root.append(h("div", { class: "grid" }, this.card.element));
  }

  filter(name, label) {
    const select = h("select", { onchange: () => this.context.set({ [name]: select.value }, { replace: true }) });
    return { select, element: h("label", { class: "filter" }, h("span", { text: label }), select), texts: "" };
  }

  makeTable() {
    const columns = [
      { key: "t", label: "time", head: true, text: (row) => clock(row.t_us), tip: (row) => moment(row.t_us) },
      { key: "node", label: "node", text: (row) => `${row.label} ${row.node}`, cell: (row) => nodeLink(row) },
      { key: "direction", label: "did", text: (row) => `${row.direction === "tx" ? "sent" : "heard"} ${row.verdict}`, cell: verdictOf },
      { key: "packet", label: "kind", text: (row) => kindName(row.packet) },
      { key: "entry", label: "entry", text: (row) => `${row.feed ?? ""} ${row.seq ?? ""} ${row.chunk ?? ""}`, cell: entryOf },
      { key: "length", label: "size", num: true, text: (row) => bytes(row.length) },
      { key: "rssi", label: "RSSI", num: true, text: (row) => decibels(row.rssi_dbm, "dBm") },
      { key: "snr", label: "SNR", num: true, text: (row) => decibels(row.snr_db) },
      { key: "airtime", label: "airtime", num: true, text: (row) => span(row.airtime_us || null) },
      { key: "face", label: "face", text: (row) => row.face },
    ];
    return new Table({ caption: "Latest packets", columns, key: (row) => row.place, empty: "No packet matches. Choose others above." });
  }

  async update({ kind }) {
    if (kind === "theme") return;
    if (this.held === null || this.rows.length === 0) await this.fetch();
    this.draw();
  }

  /** What came since; the first time, and after a gap, the latest there are. */
  async fetch() {
    const newest = this.rows[0]?.place ?? null;
    const body = await this.context.load(PATH, newest === null ? { limit: KEPT } : { after: newest, limit: AT_ONCE });
    const fresh = newest === null ? body.rows : body.rows.filter((row) => row.place > newest);
    this.rows = fresh.length >= AT_ONCE && newest !== null ? fresh : [...fresh, ...this.rows].slice(0, KEPT);
  }

  async hold() {
    this.held = this.held === null ? this.rows : null;
    this.pause.setAttribute("aria-pressed", String(this.held !== null));
    setText(this.pause, this.held === null ? "Pause" : "Resume");
    if (this.held === null) await this.fetch();
    this.draw();
  }

  draw() {
    const wanted = { node: this.context.get("node"), kind: this.context.get("kind"), verdict: this.context.get("verdict") };
    this.fill("node", "all nodes", labels(this.rows), wanted.node);
    this.fill("kind", "all kinds", [...new Set(this.rows.map((row) => row.packet))].sort(byKind).map((kind) => [kind, kindName(kind)]), wanted.kind);
    this.fill("verdict", "sent and heard", VERDICT_NAMES.map((verdict) => [verdict, verdictName(verdict)]), wanted.verdict);
    const rows = this.rows.filter((row) => (!wanted.node || row.node === wanted.node) && (!wanted.kind || row.packet === wanted.kind) && (!wanted.verdict || row.verdict === wanted.verdict));
    this.table.none.textContent = this.rows.length ? "No packet matches. Choose others above." : "No packet was logged yet. The list fills as nodes send and receive.";
    this.table.set(rows.slice(0, SHOWN));
    const words = rows.length > SHOWN ? `The newest ${SHOWN} of ${count(rows.length)}` : many(rows.length, "packet");
    setText(this.card.sub, `${words}${this.held === null ? ", as they are logged" : ", paused"}. Times are those of the nodes’ own clocks.`);
  }

  fill(name, all, choices, value) {
    const one = this.filters[name];
    const unknown = value && !choices.some(([known]) => known === value) ? [[value, value]] : [];
    const options = [["", all], ...choices, ...unknown];
    const texts = JSON.stringify(options);
    if (one.texts !== texts && document.activeElement !== one.select) {
      one.texts = texts;
      one.select.replaceChildren(...options.map(([key, text]) => h("option", { value: key, text })));
    }
    if (one.select.value !== (value ?? "")) one.select.value = value ?? "";
  }

  close() {
    this.rows = [];
  }
}

const labels = (rows) => [...new Map(rows.map((row) => [row.node, row.label]))].sort(([, a], [, b]) => a.localeCompare(b));

function verdictOf(row) {
  if (row.direction === "tx") return h("span", { class: "verdict v-sent", text: "sent" });
  const reason = row.reason ? ` (${row.reason.replaceAll("_", " ")})` : "";
  return h("span", { class: `verdict v-${row.verdict}`, text: `heard, ${verdictName(row.verdict)}${reason}` });
}

function entryOf(row) {
  if (!row.feed || !row.seq) return h("span", { class: "soft", text: "–" });
  const link = messageLink({ feed: row.feed, label: row.feed_label }, row.seq);
  return row.chunk === null || row.chunk === undefined ? link : h("span", {}, link, h("span", { class: "soft", text: ` chunk ${row.chunk}` }));
}
