// One feed: how much of it each node has, its latest entries, how far they came, and their delays.

import { card, facts, h, messageLink, nodeLink, setText } from "../dom.js";
import { bytes, count, many, shortId, span, time } from "../format.js";
import { extent, histogram } from "../histogram.js";
import { ListCard, numberColumn, timeColumn } from "../lists.js";
import { begin, nothing } from "../states.js";

const FIGURE_HEIGHT_MIN = 200;
const FIGURE_HEIGHT_MAX = 380;

export const title = ({ feed }) => `Feed ${shortId(feed)}`;

export const show = (root, context) => begin(new FeedPage(root, context));

/** How much of the feed the node has, as a bar and in words. */
function heldCell(row, newest) {
  const bar = h("i", { class: "used", "aria-hidden": "true" }, h("b"));
  bar.firstChild.style.width = `${newest ? (row.seq / newest) * 100 : 100}%`;
  return h("span", { class: "share" }, bar, h("span", { text: `${count(row.seq)} of ${count(newest)}` }));
}

class FeedPage {
  constructor(root, context) {
    this.context = context;
    this.feed = context.params.feed;
    this.drawn = null;
    this.facts = h("div", { class: "summary" });
    const csv = (table) => () => context.csv(`/api/feed/${this.feed}`, { table });
    const newest = () => this.drawn.newest;
    this.nodes = new ListCard(context, { id: "holders", title: "Who has it", sub: "Entries stored, of those published.", csv: csv("nodes"), sort: "-behind", empty: "No node has been read yet.", key: (row) => row.node, columns: [
      { key: "node", label: "node", head: true, value: (row) => row.label, cell: nodeLink },
      { key: "seq", label: "has", value: (row) => row.seq, text: (row) => `${row.seq}/${newest()}`, cell: (row) => heldCell(row, newest()) },
      numberColumn("behind", "behind", "behind", count, { className: (row) => (row.behind ? "warn" : "") }),
      numberColumn("chunks", "chunks missing", "chunks_missing", count, { className: (row) => (row.chunks_missing ? "warn" : "") }),
    ] });
    this.delays = card({ id: "delays", title: "Delays", sub: "From publication to arrival, all copies that arrived in this range." });
    this.figure = h("div", { class: "chart figure" });
    this.delays.body.append(this.figure);
    this.entries = new ListCard(context, { id: "entries", title: "Latest entries", wide: true, sub: "Each with its way through the mesh.", csv: csv("entries"), sort: "-seq", empty: "Nothing published yet.", key: (row) => row.seq, columns: [
      { key: "seq", label: "entry", head: true, value: (row) => row.seq, text: (row) => `#${row.seq}`, cell: (row) => messageLink(this.drawn, row.seq), tip: (row) => `message id ${row.id ?? "unknown"}` },
      { key: "size", label: "size", num: true, value: (row) => row.size, text: (row) => (row.chunks ? `${bytes(row.size)}, ${many(row.chunks, "chunk")}` : bytes(row.size)) },
      timeColumn("published", "published", "t_us", { num: true }),
      numberColumn("copies", "nodes that have it", "copies"),
      numberColumn("median", "delay, median", "median_us", span),
      { key: "took", label: "last arrival after", num: true, value: took, text: (row) => span(took(row)) },
    ] });
    this.forks = new ListCard(context, { id: "forks", title: "Forks", wide: true, sub: "Two different entries are signed with one sequence number: this feed cannot be continued.", csv: csv("forks"), empty: "None.", key: (row) => `${row.node} ${row.seq} ${row.t_us} ${row.other}`, columns: [
      { key: "seq", label: "place", head: true, value: (row) => row.seq, text: (row) => `#${row.seq}` },
      { key: "held", label: "held", value: (row) => row.held, cell: (row) => h("span", { class: "mono", text: shortId(row.held) }), tip: (row) => row.held ?? "" },
      { key: "other", label: "offered", value: (row) => row.other, cell: (row) => h("span", { class: "mono", text: shortId(row.other) }), tip: (row) => row.other ?? "" },
      { key: "node", label: "seen by", value: (row) => row.label ?? row.node, cell: nodeLink },
      timeColumn("when", "when", "t_us", { num: true }),
    ] });
    root.append(this.facts, h("div", { class: "grid" }, this.nodes.element, this.delays.element, this.forks.element, this.entries.element));
    this.sizes = new ResizeObserver(() => this.plot());
    this.sizes.observe(this.figure);
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load(`/api/feed/${this.feed}`);
    if (data === this.drawn) {
      if (kind === "query") [this.nodes, this.entries, this.forks].forEach((one) => one.table.draw());
      return;
    }
    this.drawn = data;
    this.context.heading(`Feed ${data.label}`);
    const lacking = data.nodes.filter((one) => one.behind).length;
    this.facts.replaceChildren(facts([
      ["entries", count(data.newest)],
      ["owner", data.owner ? nodeLink({ node: data.owner, label: ownerLabel(data) }) : "writes no log"],
      ["nodes that lack some", lacking ? h("span", { class: "warn", text: count(lacking) }) : "none"],
      ["delay, median and p95", `${span(data.delays.median_us)}, ${span(data.delays.p95_us)}`],
      data.entries.length ? ["newest entry", time(data.entries.reduce((last, one) => Math.max(last, one.t_us ?? 0), 0) || null)] : null,
      data.forks.length ? ["forked", h("span", { class: "bad", text: "yes" })] : null,
      ["id", h("span", { class: "mono", text: data.feed })],
    ]));
    const more = data.hidden?.nodes ?? 0;
    this.nodes.set(data.nodes, more ? `${many(more, "more node")} not shown: those least behind.` : "");
    this.entries.set(data.entries, data.newest > data.entries.length ? `The latest ${count(data.entries.length)} of ${many(data.newest, "entry", "entries")}.` : "");
    this.forks.element.hidden = data.forks.length === 0;
    this.forks.set(data.forks);
    this.plot();
  }

  plot() {
    const data = this.drawn?.delays;
    const { clientWidth: width, clientHeight } = this.figure;
    const height = Math.max(FIGURE_HEIGHT_MIN, Math.min(FIGURE_HEIGHT_MAX, clientHeight));
    if (!data || !width) return;
    if (!data.n) {
      this.figure.replaceChildren(nothing("No copy arrived at another node in this range."));
      setText(this.delays.footer, "");
      return;
    }
    this.figure.replaceChildren(histogram(width, height, data, extent([data.buckets]), `Delays of ${this.drawn.label}`));
    setText(this.delays.footer, `${many(data.n, "copy", "copies")} on a logarithmic axis.`);
  }

  close() {
    this.sizes.disconnect();
  }
}

const took = (row) => (row.reached_us !== null && row.t_us !== null ? row.reached_us - row.t_us : null);

const ownerLabel = (data) => data.nodes.find((one) => one.node === data.owner)?.label ?? shortId(data.owner);
