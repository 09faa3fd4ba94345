// Messages: the latest and how far they came, how many each node lacks of each feed, how long they took.

import { card, h, messageLink } from "../dom.js";
import { bytes, clock, count, dayTime, many, span, time } from "../format.js";
import { Sections } from "../sections.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";

const DOTS_MAX = 12;
const PARTS = [
  { name: "heat", load: () => import("./feeds.js") },
  { name: "delays", title: "Delays", about: "how long messages take to arrive, by node, feed and hop", load: () => import("./delays.js") },
];

export const title = () => "Messages";

export const show = (root, context) => begin(new MessagesTab(root, context));

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

class MessagesTab {
  constructor(root, context) {
    this.context = context;
    this.drawn = null;
    this.recent = card({ id: "recent", title: "Latest messages", wide: true, sub: "The latest, and how many nodes have them.", tools: [csvLink(() => context.csv("/api/overview", { table: "recent" }))] });
    this.recentTable = this.entriesTable();
    this.recent.body.append(this.recentTable.element);
    root.append(h("div", { class: "grid" }, this.recent.element));
    this.sections = new Sections(root, context, PARTS);
  }

  entriesTable() {
    const nodes = () => this.drawn.nodes;
    const total = () => this.drawn.totals.nodes;
    const everywhere = (row) => row.held_by.length >= total() && row.reached_us !== null;
    return new Table({
      caption: "Latest messages",
      key: (row) => `${row.feed}/${row.seq}`,
      empty: "The latest messages appear here, and which nodes have them. Write one: tinyssb publish \"hello\"",
      columns: [
        { key: "entry", label: "message", head: true, value: (row) => row.label, text: (row) => `${row.label} #${row.seq}`, cell: (row) => messageLink(row, row.seq), tip: (row) => `message id ${row.id ?? "unknown"}` },
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

  async update(change) {
    await Promise.all([this.latest(change), this.sections.update(change)]);
  }

  async latest({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load("/api/overview");
    if (data === this.drawn) return;
    this.drawn = data;
    this.recentTable.set(data.recent);
  }

  close() {
    this.sections.close();
  }
}
