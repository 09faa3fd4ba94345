// How late copies come: one histogram on a logarithmic axis for all, or for a node, a feed or a hop; a row for each.

import { pngButton } from "../charts.js";
import { card, choice, h, setText, tool } from "../dom.js";
import { count, many, moment, span } from "../format.js";
import { extent, histogram, shareAt, small, under } from "../histogram.js";
import { begin, nothing } from "../states.js";
import { savePicture } from "../picture.js";
import { Spread } from "../spread.js";
import { csvLink, Table } from "../table.js";
import { hideTip, showTip } from "../tip.js";

const PATH = "/api/delays";
const SCOPES = { node: "by node", feed: "by feed", hop: "by hop" };
const ABOUT = {
  node: "From publication until this node had the entry.",
  feed: "From publication of this feed’s entries until other nodes had them.",
  hop: "From the time when the sender had the entry itself.",
};
const HEIGHT_PX = 250;
const SMALL = { width: 180, height: 26 };

export const show = (root, context) => begin(new Delays(root, context));

class Delays {
  constructor(root, context) {
    this.context = context;
    this.back = tool("All copies", () => context.set({ row: null }));
    this.large = card({ id: "distribution", title: "How long copies take", wide: true, tools: [this.back, tool("PNG", () => savePicture(this.box.querySelector("svg"), "delays"), "Save the figure as a picture")] });
    this.box = h("div", { class: "histogram-box" });
    this.large.body.append(this.box);
    this.scopes = choice("Delays by", Object.entries(SCOPES), "node", (by) => context.set({ by: by === "node" ? null : by, row: null }));
    this.rows = card({ id: "rows", title: "Compared", wide: true, tools: [this.scopes.element, csvLink(() => context.csv(PATH, { scope: this.scope }))] });
    this.table = this.makeTable();
    this.rows.body.append(this.table.element);
    this.when = card({ id: "when", title: "How delays changed", wide: true, sub: "All copies by arrival time and delay: the stronger the colour, the more copies." });
    const spread = h("div", { class: "chart spread" });
    this.when.body.append(spread);
    this.spread = new Spread(spread);
    this.when.tools.append(pngButton(() => this.spread.canvas(), "delays-over-time", () => `Delays over time, ${moment(this.body?.as_of_us)}`), csvLink(() => context.csv(PATH, { scope: this.scope, table: "over_time" })));
    root.append(h("div", { class: "grid" }, this.large.element, this.rows.element, this.when.element));
    this.watcher = new ResizeObserver(() => this.box.clientWidth !== this.width && this.drawLarge());
    this.watcher.observe(this.box);
    this.box.addEventListener("pointermove", (event) => this.pointed(event));
    this.box.addEventListener("pointerleave", hideTip);
  }

  get scope() {
    const by = this.context.get("by", "node");
    return Object.hasOwn(SCOPES, by) ? by : "node";
  }

  makeTable() {
    const { context } = this;
    const choose = (row) => h("button", { type: "button", class: "link", text: row.label, title: "Show its histogram above", onclick: () => context.set({ row: keyOf(row) === context.get("row") ? null : keyOf(row) }) });
    const columns = [
      { key: "label", label: "who", head: true, value: (row) => row.label, cell: choose },
      { key: "shape", label: "on the same axis as above", className: "shape", text: (row) => `${row.n} ${row.median_us} ${row.p95_us} ${this.axis.join(" ")}`, cell: (row) => small(SMALL.width, SMALL.height, row, this.axis) },
      { key: "n", label: "copies", num: true, value: (row) => row.n, text: (row) => count(row.n) },
      { key: "median", label: "median", num: true, value: (row) => row.median_us, text: (row) => span(row.median_us) },
      { key: "p95", label: "p95", num: true, title: "95 of 100 took no longer", value: (row) => row.p95_us, text: (row) => span(row.p95_us) },
    ];
    return new Table({
      caption: "Delays compared", columns, key: keyOf, sort: "-p95", empty: "No copy arrived in this period. Choose a longer one above.",
      state: { get: () => context.get("sort-delays"), set: (text) => context.set({ "sort-delays": text }, { replace: true }) },
      rowClass: (row) => (keyOf(row) === context.get("row") ? "chosen" : ""),
    });
  }

  async update({ kind }) {
    if (kind === "theme") {
      this.spread.redraw();
      return;
    }
    const { scope } = this;
    this.body = await this.context.load(PATH, { scope });
    this.axis = extent([this.body.all.buckets, ...this.body.rows.map((row) => row.buckets)]);
    this.scopes.set(scope);
    setText(this.rows.sub, ABOUT[scope]);
    this.table.set(this.body.rows);
    this.drawLarge();
    this.spread.set(this.body.over_time, this.body.step_us, this.when.sub.textContent);
  }

  get shown() {
    return this.body.rows.find((row) => keyOf(row) === this.context.get("row")) ?? null;
  }

  drawLarge() {
    if (!this.body) return;
    const row = this.shown;
    const data = row ?? this.body.all;
    this.width = this.box.clientWidth;
    this.back.hidden = row === null;
    setText(this.large.element.querySelector("h2"), row ? row.label : "How long copies take");
    if (data.n === 0 || data.buckets.length === 0) {
      setText(this.large.sub, "");
      this.box.replaceChildren(nothing("No copy came in this time. Choose a longer one above, or wait: delays are computed once entries have arrived at a second node."));
      return;
    }
    const what = this.scope === "hop" ? "Copies by how long they took, hop by hop" : "Copies by how long they took, from publication to arrival";
    setText(this.large.sub, `${what}: ${many(data.n, "copy", "copies")}, half of them within ${span(data.median_us)}, 95 of 100 within ${span(data.p95_us)}.`);
    this.box.replaceChildren(histogram(this.width, HEIGHT_PX, data, this.axis, row ? row.label : "All copies"));
  }

  pointed(event) {
    const drawing = this.box.querySelector("svg");
    if (!drawing) return;
    const box = drawing.getBoundingClientRect();
    showTip(under(shareAt(box, event.clientX), this.shown ?? this.body.all, this.axis), event.clientX, box.top + 34);
  }

  close() {
    this.watcher.disconnect();
    this.spread.close();
  }
}

const keyOf = (row) => [row.a, row.b].filter((part) => part !== null && part !== undefined && part !== "").join("~");
