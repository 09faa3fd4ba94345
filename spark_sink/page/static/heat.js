// The heat map: feeds down, nodes across, drawn on a canvas so that 200 × 64 cells cost a few milliseconds, with names
// beside it that stay in view, a cursor for the keyboard, and a line that explains the chosen cell.

import { colours, onTheme } from "./charts.js";
import { feedLink, h, nodeLink, setText } from "./dom.js";
import { count, many } from "./format.js";
import { hideTip, showTip } from "./tip.js";

/** Upper bounds of the classes, little to much. The number in the cell carries the meaning; colour repeats it. */
export const CLASSES = [[0, "0"], [2, "1–2"], [9, "3–9"], [29, "10–29"], [99, "30–99"], [Infinity, "100+"]];
export const classOf = (behind) => CLASSES.findIndex(([upTo]) => behind <= upTo);

const BASE_PX = 15;
const ROOMY_FEEDS = 24;
const CELL = { roomy: 34, dense: 21, narrow: 22, wide: 120 };
const UPRIGHT_BELOW = 58;
const ZEROS_MAX_CELLS = 600;
const AREA_MAX = 24e6;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [0, -10], PageDown: [0, 10], Home: [-Infinity, 0], End: [Infinity, 0] };

export class Heat {
  constructor() {
    this.canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "heat map", "aria-describedby": "heat-cell" });
    this.heads = h("div", { class: "heads", "aria-hidden": "true" });
    this.sides = h("div", { class: "sides", "aria-hidden": "true" });
    this.mark = h("i", { class: "cell-cursor", hidden: true });
    this.sheet = h("div", { class: "sheet" }, this.canvas, this.mark);
    this.corner = h("div", { class: "corner", "aria-hidden": "true" });
    this.frame = h("div", { class: "frame" }, this.corner, this.heads, this.sides, this.sheet);
    this.element = h("div", { class: "heat" }, this.frame);
    this.readout = h("p", { id: "heat-cell", class: "readout", "aria-live": "polite" });
    Object.assign(this, { model: null, drawn: null, look: null, cell: null });
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.element);
    this.unwatch = onTheme(() => this.redraw());
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", hideTip);
    this.canvas.addEventListener("click", (event) => this.choose(this.model && this.at(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.canvas.matches(":focus-visible") && this.choose(this.cell ?? [0, 0]));
  }

  /** model: {feeds, nodes, behind, chunks}, in the order that is wanted. */
  set(model) {
    const before = this.model;
    this.model = model;
    this.canvas.setAttribute("aria-label", `Entries behind, ${many(model.feeds.length, "feed")} by ${many(model.nodes.length, "node")}. Arrow keys choose a cell.`);
    // While rows and columns stay the same, the cost of a change is in proportion to the changed cells.
    if (before && names(before) === names(model)) {
      this.recount(before);
      this.redrawChanged();
    } else {
      if (before && this.cell) this.cell = this.again(before, this.cell);
      this.label();
      this.fit(true);
    }
    if (this.cell) this.tell();
  }

  /** Where the cell that was chosen is now. */
  again(before, [column, row]) {
    const x = this.model.nodes.findIndex((one) => one.node === before.nodes[column]?.node);
    const y = this.model.feeds.findIndex((one) => one.feed === before.feeds[row]?.feed);
    return x < 0 || y < 0 ? null : [x, y];
  }

  label() {
    const { feeds, nodes } = this.model;
    this.heads.replaceChildren(...nodes.map((node) => h("a", { href: `/node/${node.node}`, tabindex: "-1", title: `node ${node.node}` }, h("span", { text: node.label }))));
    this.counts = feeds.map((feed) => h("small", { text: count(feed.newest) }));
    this.sides.replaceChildren(...feeds.map((feed, row) => h("a", { href: `/feed/${feed.feed}`, tabindex: "-1", title: feedTip(feed) }, h("span", { text: feed.label }), this.counts[row])));
    this.corner.replaceChildren(h("span", { text: "feed" }), h("small", { text: "entries" }));
  }

  /** Says how many entries the feeds have that have grown since. */
  recount(before) {
    this.model.feeds.forEach((feed, row) => {
      if (feed.newest === before.feeds[row].newest) return;
      setText(this.counts[row], count(feed.newest));
      this.counts[row].parentElement.title = feedTip(feed);
    });
  }

  /** Chooses the size of the cells by the room there is; draws everything if it changed. */
  fit(always = false) {
    if (!this.model || !this.element.clientWidth) return;
    const { feeds, nodes } = this.model;
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / BASE_PX;
    const height = Math.round((feeds.length <= ROOMY_FEEDS ? CELL.roomy : CELL.dense) * scale);
    const side = Math.min(this.element.clientWidth * 0.42, 15 * BASE_PX * scale);
    const room = Math.floor((this.element.clientWidth - side - 4) / Math.max(1, nodes.length));
    const width = Math.max(Math.round(CELL.narrow * scale), Math.min(Math.round(CELL.wide * scale), room));
    const ratio = Math.min(window.devicePixelRatio || 1, Math.sqrt(AREA_MAX / Math.max(1, width * nodes.length * height * feeds.length)));
    const letters = `${Math.round(Math.min(13 * scale, height * 0.52, width * 0.5))}px system-ui, sans-serif`;
    const look = { width, height, scale, ratio, gap: width < 30 * scale ? 1 : 2, side, plain: letters, bold: `600 ${letters}` };
    if (!always && this.look && JSON.stringify(look) === JSON.stringify(this.look)) return;
    this.look = look;
    this.place();
    this.redraw();
  }

  place() {
    const { feeds, nodes } = this.model;
    const { width, height, ratio, scale, side } = this.look;
    this.element.classList.toggle("upright", width < UPRIGHT_BELOW * scale);
    this.frame.style.setProperty("--cell-width", `${width}px`);
    this.frame.style.setProperty("--cell-height", `${height}px`);
    this.frame.style.setProperty("--side", `${Math.round(side)}px`);
    this.canvas.width = Math.round(width * nodes.length * ratio);
    this.canvas.height = Math.round(height * feeds.length * ratio);
    this.canvas.style.width = `${width * nodes.length}px`;
    this.canvas.style.height = `${height * feeds.length}px`;
    if (this.cell) this.moveMark();
  }

  pen() {
    const pen = this.canvas.getContext("2d");
    const { ratio } = this.look;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    return pen;
  }

  redraw() {
    if (!this.model || !this.look) return;
    const { feeds, nodes, behind } = this.model;
    this.theme = colours();
    const pen = this.pen();
    pen.clearRect(0, 0, this.look.width * nodes.length, this.look.height * feeds.length);
    for (let row = 0; row < feeds.length; row += 1) {
      for (let column = 0; column < nodes.length; column += 1) this.paint(pen, column, row);
    }
    this.drawn = behind.map((one) => [...one]);
  }

  redrawChanged() {
    if (!this.drawn) return;
    const pen = this.pen();
    this.model.behind.forEach((values, row) => {
      const before = this.drawn[row];
      values.forEach((value, column) => {
        if (before[column] === value) return;
        before[column] = value;
        pen.clearRect(column * this.look.width, row * this.look.height, this.look.width, this.look.height);
        this.paint(pen, column, row);
      });
    });
  }

  /** Draws a cell on an empty ground. */
  paint(pen, column, row) {
    const { width, height, gap, scale } = this.look;
    const { feeds, nodes, behind } = this.model;
    const { steps, stepInks, lineStrong, line } = this.theme;
    const value = behind[row][column];
    const [x, y, w, t] = [column * width + gap / 2, row * height + gap / 2, width - gap, height - gap];
    pen.beginPath();
    pen.roundRect(x, y, w, t, gap + 1);
    if (value === null) {
      pen.strokeStyle = line;
      pen.lineWidth = 1;
      pen.stroke();
      return;
    }
    const kind = classOf(value);
    pen.fillStyle = steps[kind];
    pen.fill();
    if (feeds[row].owner === nodes[column].node) {
      pen.strokeStyle = lineStrong;
      pen.lineWidth = 1.5 * scale;
      pen.setLineDash([3, 3]);
      pen.stroke();
      pen.setLineDash([]);
    }
    if (value === 0 && feeds.length * nodes.length > ZEROS_MAX_CELLS) return;
    const text = value < 1_000 ? String(value) : value < 10_000 ? `${(value / 1000).toFixed(1)}k` : `${Math.round(value / 1000)}k`;
    pen.fillStyle = stepInks[kind];
    pen.font = value === 0 ? this.look.plain : this.look.bold;
    if (pen.measureText(text).width > w - 1) return;
    pen.fillText(text, x + w / 2, y + t / 2 + 0.5);
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / this.look.width);
    const row = Math.floor((event.clientY - box.top) / this.look.height);
    return this.model.nodes[column] && this.model.feeds[row] ? [column, row] : null;
  }

  hover(event) {
    const cell = this.model && this.at(event);
    if (cell) showTip(this.words(cell), event.clientX, event.clientY - 14);
    else hideTip();
  }

  key(event) {
    const step = STEPS[event.key];
    if (event.key === "Enter" && this.cell) {
      event.preventDefault();
      this.readout.querySelector("a")?.focus();
    }
    if (!step || !this.model?.feeds.length) return;
    event.preventDefault();
    const [column, row] = this.cell ?? [0, 0];
    const inside = (n, size) => Math.max(0, Math.min(size - 1, n));
    this.choose([inside(column + step[0], this.model.nodes.length), inside(row + step[1], this.model.feeds.length)]);
  }

  choose(cell) {
    this.cell = cell && this.model?.nodes.length && this.model.feeds.length ? cell : null;
    this.mark.hidden = this.cell === null;
    if (this.cell === null) {
      this.readout.replaceChildren();
      return;
    }
    this.moveMark();
    this.mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.tell();
  }

  moveMark() {
    const [column, row] = this.cell;
    this.mark.style.left = `${column * this.look.width}px`;
    this.mark.style.top = `${row * this.look.height}px`;
  }

  words([column, row]) {
    const { feeds, nodes, behind, chunks } = this.model;
    const [feed, node, value] = [feeds[row], nodes[column], behind[row][column]];
    if (value === null) return `${node.label} has no record of ${feed.label}`;
    const own = feed.owner === node.node ? ", its own feed" : "";
    const lacks = value === 0 ? `has all ${many(feed.newest, "entry", "entries")}` : `lacks ${count(value)} of ${many(feed.newest, "entry", "entries")}`;
    const parts = chunks?.[row]?.[column];
    return `${node.label} ${lacks} of ${feed.label}${own}${parts ? `; ${many(parts, "packet")} of side chains missing` : ""}`;
  }

  tell() {
    if (!this.cell) {
      this.mark.hidden = true;
      this.readout.replaceChildren();
      return;
    }
    const words = this.words(this.cell);
    if (this.readout.firstChild?.textContent === words) return;
    const [column, row] = this.cell;
    const text = h("span");
    setText(text, words);
    this.readout.replaceChildren(text, h("span", { class: "soft", text: " · " }), nodeLink(this.model.nodes[column]), h("span", { class: "soft", text: " · feed " }), feedLink(this.model.feeds[row]));
  }

  /** The map with its names, as one picture. */
  picture() {
    if (!this.look) return null;
    const { width, height, ratio, scale, side } = this.look;
    const top = this.heads.offsetHeight;
    const whole = document.createElement("canvas");
    whole.width = this.canvas.width + side * ratio;
    whole.height = this.canvas.height + top * ratio;
    const pen = whole.getContext("2d");
    pen.drawImage(this.canvas, side * ratio, top * ratio);
    pen.scale(ratio, ratio);
    pen.fillStyle = this.theme.ink;
    pen.font = `${Math.round(12 * scale)}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    this.model.feeds.forEach((feed, row) => pen.fillText(feed.label, 0, top + (row + 0.5) * height, side - 8));
    this.model.nodes.forEach((node, column) => {
      pen.save();
      pen.translate(side + (column + 0.5) * width, top - 6);
      pen.rotate(-Math.PI / 2);
      pen.fillText(node.label, 0, 0, top - 8);
      pen.restore();
    });
    return whole;
  }

  close() {
    this.sizes.disconnect();
    this.unwatch();
    hideTip();
  }
}

const names = ({ feeds, nodes }) => `${feeds.map((one) => [one.feed, one.label, one.owner])}|${nodes.map((one) => [one.node, one.label])}`;
const feedTip = (feed) => `${feed.label}: ${many(feed.newest, "entry", "entries")}\nfeed ${feed.feed}`;
