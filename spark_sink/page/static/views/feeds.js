// Heat map of feeds and nodes, now and at any moment of the history.

import { pngButton } from "../charts.js";
import { card, choice, feedLink, h, nodeLink, setText, swatch } from "../dom.js";
import { count, dayTime, many, moment } from "../format.js";
import { CLASSES, Heat } from "../heat.js";
import { begin, nothing } from "../states.js";
import { csvLink, Table } from "../table.js";

const HOUR_US = 3_600e6;
const FRAMES = 120;
const FRAME_MS = 350;

export const show = (root, context) => begin(new Feeds(root, context));

class Feeds {
  constructor(root, context) {
    this.context = context;
    this.body = null;
    this.playing = null;
    this.heat = new Heat();
    this.ordered = choice("Order", [["name", "By name"], ["behind", "Farthest behind"]], "name", (value) => context.set({ order: value === "name" ? null : value }));
    this.as = choice("Show as", [["map", "Map"], ["table", "Table"]], "map", (value) => context.set({ as: value === "map" ? null : value }));
    this.card = card({ id: "heat", title: "Who lacks what", wide: true, sub: "Authors’ feeds down, nodes across: how many messages a node still lacks." });
    this.card.tools.append(this.ordered.element, this.as.element, pngButton(() => this.heat.picture(), "entries-behind", () => `Entries behind, ${moment(this.body?.at_us ?? this.body?.as_of_us)}`), csvLink(() => context.csv("/api/heatmap", { at: context.range.at })));
    this.table = this.pairs();
    this.none = nothing("Each author’s feed is a row here, and each node a column, once a first message is written.");
    this.legend = h("div", { class: "legend" }, h("span", { text: "messages missing" }), ...CLASSES.map(([, text], index) => swatch(`b${index}`, text)), swatch("own", "the node’s own feed"));
    this.hidden = h("span", { class: "note" });
    this.legend.append(this.hidden);
    this.card.body.append(this.slider(), this.heat.readout, this.heat.element, this.table.element, this.none);
    this.card.footer.append(this.legend);
    root.append(this.card.element);
  }

  slider() {
    this.when = h("input", { type: "range", "aria-label": "Moment that is shown", min: 0, max: 0, step: 1, disabled: true });
    this.when.addEventListener("input", () => this.moved());
    this.play = h("button", { type: "button", class: "tool", text: "▶ Play", disabled: true, onclick: () => this.toggle() });
    this.now = h("button", { type: "button", class: "tool", text: "Now", disabled: true, onclick: () => this.goTo(null) });
    this.words = h("output", { class: "moment" });
    return h("div", { class: "timeline" }, this.play, this.when, this.words, this.now);
  }

  pairs() {
    return new Table({
      caption: "Nodes that lack entries of a feed",
      key: (row) => `${row.node.node} ${row.feed.feed}`,
      sort: "-behind",
      empty: "Every node has everything.",
      state: { get: () => this.context.get("sort"), set: (text) => this.context.set({ sort: text }, { replace: true }) },
      columns: [
        { key: "feed", label: "feed", head: true, value: (row) => row.feed.label, cell: (row) => feedLink(row.feed) },
        { key: "node", label: "node", value: (row) => row.node.label, cell: (row) => nodeLink(row.node) },
        { key: "behind", label: "entries behind", num: true, value: (row) => row.behind, text: (row) => count(row.behind), className: (row) => (row.behind ? "warn" : "") },
        { key: "newest", label: "entries published", num: true, value: (row) => row.feed.newest, text: (row) => count(row.feed.newest) },
        { key: "chunks", label: "packets of side chains missing", num: true, value: (row) => row.chunks, text: (row) => count(row.chunks) },
      ],
    });
  }

  /** Between two positions of the slider: full hours, for which frontiers are kept. */
  get stepUs() {
    return Math.max(1, Math.ceil((this.body.last_us - this.body.first_us) / FRAMES / HOUR_US)) * HOUR_US;
  }

  moved() {
    const at = Number(this.when.value);
    this.goTo(at >= this.body.last_us ? null : at);
  }

  goTo(at) {
    this.say(at);
    this.context.set({ at }, { replace: true });
  }

  toggle() {
    if (this.playing !== null) {
      this.stop();
      return;
    }
    const { first_us: first, last_us: last } = this.body;
    const at = this.context.range.at;
    if (at === null || at >= last) this.goTo(first);
    this.playing = setInterval(() => this.frame(), FRAME_MS);
    setText(this.play, "❚❚ Pause");
  }

  frame() {
    if (this.busy) return;
    const next = (this.context.range.at ?? this.body.first_us) + this.stepUs;
    if (next >= this.body.last_us) {
      this.stop();
      this.goTo(null);
    } else this.goTo(next);
  }

  stop() {
    clearInterval(this.playing);
    this.playing = null;
    setText(this.play, "▶ Play");
  }

  async update({ kind }) {
    if (kind === "theme") return;
    this.busy = true;
    try {
      const at = this.context.range.at;
      const body = await this.context.load("/api/heatmap", { at });
      const key = `${this.context.get("order")} ${this.context.get("as")} ${this.context.get("sort")}`;
      if (body === this.body && key === this.key) return;
      this.body = body;
      this.key = key;
      this.draw(body);
    } finally {
      this.busy = false;
    }
  }

  draw(body) {
    const model = this.inOrder(body);
    const any = body.feeds.length > 0 && body.nodes.length > 0;
    const asTable = this.context.get("as") === "table";
    this.ordered.set(this.context.get("order", "name"));
    this.as.set(asTable ? "table" : "map");
    this.heat.element.hidden = this.heat.readout.hidden = asTable || !any;
    this.table.element.hidden = !asTable || !any;
    this.none.hidden = any;
    if (any && asTable) this.table.set(lacking(model));
    if (any && !asTable) this.heat.set(model);
    this.timeline(body);
    const hidden = [body.hidden?.feeds ? many(body.hidden.feeds, "more feed") : null, body.hidden?.nodes ? many(body.hidden.nodes, "more node") : null].filter(Boolean);
    setText(this.hidden, hidden.length ? `${hidden.join(" and ")} not shown: those least behind` : "");
  }

  /** Rows and columns by name, as they come, stay where they are while time moves; else the worst are top left. */
  inOrder({ feeds, nodes, behind, chunks_missing: chunks }) {
    if (this.context.get("order") !== "behind") return { feeds, nodes, behind, chunks };
    const sum = (values) => values.reduce((total, one) => total + (one ?? 0), 0);
    const order = (list, totals) => [...list.keys()].sort((a, b) => totals[b] - totals[a]);
    const rows = order(feeds, behind.map(sum));
    const columns = order(nodes, nodes.map((_, column) => sum(behind.map((row) => row[column]))));
    const pick = (cells) => cells && rows.map((row) => columns.map((column) => cells[row][column]));
    return { feeds: rows.map((row) => feeds[row]), nodes: columns.map((column) => nodes[column]), behind: pick(behind), chunks: pick(chunks) };
  }

  timeline(body) {
    const { first_us: first, last_us: last } = body;
    const some = first !== null && last !== null && last - first >= HOUR_US;
    this.when.disabled = this.play.disabled = !some;
    if (!some) return;
    this.when.min = first;
    this.when.max = last;
    this.when.step = this.stepUs;
    const at = this.context.range.at;
    if (document.activeElement !== this.when || at === null) this.when.value = at ?? last;
    this.say(at);
  }

  say(at) {
    const text = at === null ? `now (${dayTime(this.body.as_of_us)})` : dayTime(at);
    setText(this.words, text);
    this.when.setAttribute("aria-valuetext", text);
    this.now.disabled = at === null;
  }

  close() {
    this.stop();
    this.heat.close();
  }
}

function lacking({ feeds, nodes, behind, chunks }) {
  return feeds.flatMap((feed, row) => nodes.map((node, column) => ({ feed, node, behind: behind[row][column], chunks: chunks?.[row]?.[column] ?? null })))
    .filter((one) => one.behind || one.chunks);
}
