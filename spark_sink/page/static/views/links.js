// Every link as a row, and when the mesh split and joined.

import { card, h, nodeLink, setText, tool } from "../dom.js";
import { age, count, dayTime, decibels, percent, time } from "../format.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";
import { PATH, TopologyView } from "../topology_view.js";

const UNEVEN = 0.3; // directions of a pair whose delivery differs by more are pointed out
const CHANGES_SHOWN = 200;

export const show = (root, context) => begin(new LinkTables(root, context));

class LinkTables extends TopologyView {
  constructor(root, context) {
    super(context);
    this.all = tool("All links", () => context.set({ node: null }));
    this.links = card({ id: "links", title: "Links", wide: true, tools: [this.all, csvLink(() => context.csv(PATH, this.moment()))] });
    this.table = this.makeTable();
    this.links.body.append(this.table.element);
    this.changes = card({ id: "changes", title: "Splits and joins", wide: true, sub: "When the mesh split and joined again. It takes half an hour of silence until a split counts." });
    this.changeTable = this.makeChanges();
    this.changes.body.append(this.changeTable.element);
    root.append(h("div", { class: "grid" }, this.links.element, this.changes.element));
  }

  makeTable() {
    const { context } = this;
    const columns = [
      { key: "receiver", label: "hears", head: true, value: (link) => this.name(link.receiver), cell: (link) => nodeLink(this.node(link.receiver)) },
      { key: "sender", label: "from", value: (link) => this.name(link.sender), cell: (link) => nodeLink(this.node(link.sender)) },
      { key: "ratio", label: "delivered", num: true, title: "share of the packets sent in reach that were heard", value: (link) => link.ratio, text: (link) => percent(link.ratio), tip: (link) => `${count(link.heard)} of ${count(link.sent)} packets` },
      { key: "back", label: "other way", num: true, title: "the same from receiver to sender; marked if it differs by 30 points or more", value: (link) => this.back(link)?.ratio ?? null, text: (link) => percent(this.back(link)?.ratio), className: (link) => (this.uneven(link) ? "warn" : "") },
      { key: "heard", label: "packets", num: true, value: (link) => link.heard, text: (link) => count(link.heard) },
      { key: "snr", label: "SNR", num: true, value: (link) => link.snr_db, text: (link) => decibels(link.snr_db) },
      { key: "rssi", label: "RSSI", num: true, value: (link) => link.rssi_dbm, text: (link) => decibels(link.rssi_dbm, "dBm") },
      { key: "last", label: "last heard", num: true, value: (link) => link.last_us, text: (link) => age(this.atUs - link.last_us), tip: (link) => dayTime(link.last_us) },
    ];
    return new Table({
      caption: "Links", columns, key: (link) => `${link.sender}>${link.receiver}`, sort: "receiver", empty: "A row appears here when one node hears a packet of another. Nothing was heard in this period: choose a longer one above.",
      state: { get: () => context.get("sort-links"), set: (text) => context.set({ "sort-links": text }, { replace: true }) },
    });
  }

  makeChanges() {
    const words = { split: "split", join: "joined", isolated: "isolated", back: "back" };
    const columns = [
      { key: "t", label: "when", head: true, value: (one) => one.t_us, text: (one) => dayTime(one.t_us), cell: (one) => time(one.t_us) },
      { key: "kind", label: "what", value: (one) => words[one.kind] ?? one.kind, className: (one) => (one.kind === "split" || one.kind === "isolated" ? "warn" : "") },
      { key: "who", label: "who", className: "wrap", text: (one) => this.who(one) },
    ];
    return new Table({ caption: "Splits and joins", columns, key: (one) => `${one.t_us} ${one.kind} ${one.subject}`, sort: "-t", empty: "The mesh did not split or join in this period." });
  }

  back(link) {
    return this.pairs.get(`${link.receiver}>${link.sender}`);
  }

  uneven(link) {
    const back = this.back(link);
    return Boolean(back) && link.ratio !== null && back.ratio !== null && Math.abs(link.ratio - back.ratio) >= UNEVEN;
  }

  /** The parts of a split or a join, or the node of the change. */
  who({ detail, label }) {
    const names = (some) => some.map((id) => this.name(id)).join(", ");
    if (detail?.parts) return detail.parts.map(names).join(" | ");
    return detail?.nodes ? names(detail.nodes) : label;
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const body = await this.load();
    this.pairs = new Map(body.links.map((link) => [`${link.sender}>${link.receiver}`, link]));
    const { chosen } = this;
    this.all.hidden = chosen === null;
    setText(this.links.sub, chosen === null ? "Which nodes each node hears, and how well." : `Links of ${this.name(chosen)}.`);
    this.table.set(chosen === null ? body.links : body.links.filter((link) => link.sender === chosen || link.receiver === chosen));
    this.changeTable.set(body.changes.slice(0, CHANGES_SHOWN));
  }

  close() {}
}
