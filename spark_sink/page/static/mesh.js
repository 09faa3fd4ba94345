// A mesh drawn as a graph: nodes where layout.js puts them, an arrow for each direction of a link. Links fade with
// age; nodes and links that were there before keep their elements, so that focus and hovering outlast an update.

import { s } from "./dom.js";
import { arrange, fit, hull } from "./layout.js";

const MINUTE_US = 60e6;
const HOUR_US = 3_600e6;
const FRESH_US = 10 * MINUTE_US;
const STALE_US = HOUR_US;
const FADED_US = 24 * HOUR_US;
const FADED = 0.3;
const LOST = 0.4; // links that lose more than they carry do not hide the others
const NAMED_MAX = 60; // beyond so many nodes only those pointed at have names
const NAME_LENGTH_MAX = 14;
const HULL_PX = 26;

/** Most nodes that are drawn; laying out more would hold up the page. */
export const NODES_MAX = 150;

/** Classes of links by the share of packets that arrived: [at least, name, words]. Blue to orange, so that all can tell. */
export const RATIOS = [
  [0.9, "ratio-good", "9 of 10 packets or more"],
  [0.7, "ratio-fair", "7 of 10"],
  [0.4, "ratio-poor", "4 of 10"],
  [0, "ratio-bad", "fewer"],
];

export const ratioClass = (ratio) => (ratio === null ? "ratio-unknown" : RATIOS.find(([least]) => ratio >= least)[1]);
export const isStale = (ageUs) => ageUs > STALE_US;

/** How much of a link's colour is left after so long without a packet. */
export function fade(ageUs) {
  if (ageUs <= FRESH_US) return 1;
  const share = Math.log(ageUs / FRESH_US) / Math.log(FADED_US / FRESH_US);
  return 1 - (1 - FADED) * Math.min(1, share);
}

const round = (n) => Math.round(n * 10) / 10;
const short = (name) => (name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 1)}…` : name);
const keyOf = (link) => `${link.sender}>${link.receiver}`;

function put(element, name, value) {
  const text = String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Groups of two or more, largest first, then nodes on their own; a letter each for the first 26. */
export function parts(nodes) {
  const groups = new Map();
  for (const node of nodes) {
    if (node.group === null || node.group === undefined) continue;
    groups.set(node.group, [...(groups.get(node.group) ?? []), node.node]);
  }
  return [...groups].sort(([a, one], [b, two]) => two.length - one.length || (a < b ? -1 : 1))
    .map(([group, members], place) => ({ group, members, letter: String.fromCharCode(65 + (place % 26)), colour: place % 8 }));
}

export class Mesh {
  /** Draws into `target`; `describe(link | node)` gives words, `picked(node | null)` is called on clicks and Enter. */
  constructor(target, { describe, picked, tip }) {
    Object.assign(this, { target, describe, picked, tip });
    this.places = new Map();
    this.edges = new Map();
    this.vertices = new Map();
    this.layers = Object.fromEntries(["hulls", "edges", "vertices"].map((name) => [name, s("g", { class: `mesh-${name}` })]));
    this.root = s("svg", { class: "mesh", role: "group" }, heads(), ...Object.values(this.layers));
    target.replaceChildren(this.root);
    this.listen();
    this.watcher = new ResizeObserver(() => this.place());
    this.watcher.observe(target);
  }

  close() {
    this.watcher.disconnect();
  }

  listen() {
    this.root.addEventListener("pointermove", (event) => this.pointed(event.target.closest("[data-key]"), event));
    this.root.addEventListener("pointerleave", () => this.pointed(null));
    this.root.addEventListener("focusin", (event) => this.pointed(event.target.closest("[data-key]")));
    this.root.addEventListener("focusout", () => this.pointed(null));
    this.root.addEventListener("click", (event) => this.picked(event.target.closest("[data-vertex]")?.dataset.vertex ?? null));
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  /** `nodes`, `links` as the server gives them, `atUs`: when ages are counted from, `chosen`: a node or null. */
  update({ nodes, links, atUs, chosen }) {
    this.nodes = nodes;
    this.atUs = atUs;
    this.chosen = chosen;
    const drawn = new Set(nodes.map((node) => node.node));
    this.links = links.filter((link) => drawn.has(link.sender) && drawn.has(link.receiver));
    this.places = arrange(nodes.map((node) => node.node), this.links, this.places);
    this.parts = parts(nodes);
    this.reconcile();
    this.place();
    this.light(this.lit ?? chosen);
  }

  reconcile() {
    put(this.root, "aria-label", `${this.links.length} links between ${this.nodes.length} nodes; arrow keys go from node to node`);
    this.root.classList.toggle("crowded", this.nodes.length > NAMED_MAX);
    keep(this.edges, this.layers.edges, this.links, keyOf, edge);
    keep(this.vertices, this.layers.vertices, this.nodes, (node) => node.node, vertex);
    const most = this.links.reduce((n, link) => Math.max(n, link.heard), 1);
    for (const link of this.links) this.dressEdge(this.edges.get(keyOf(link)), link, most);
    const part = new Map(this.parts.flatMap((one) => one.members.map((member) => [member, one])));
    const stop = this.nodes.some((node) => node.node === this.stop) ? this.stop : this.chosen ?? this.nodes[0]?.node;
    for (const node of this.nodes) this.dressVertex(this.vertices.get(node.node), node, part.get(node.node), stop);
  }

  dressEdge(element, link, most) {
    const ageUs = this.atUs - link.last_us;
    put(element, "class", `edge ${ratioClass(link.ratio)}${isStale(ageUs) ? " stale" : ""}`);
    put(element, "opacity", round(fade(ageUs) * ((link.ratio ?? 1) < LOST ? 0.55 : 1)));
    const line = element.firstElementChild;
    put(line, "stroke-width", round(1 + 3.4 * Math.sqrt(link.heard / most)));
    put(line, "marker-end", `url(#head-${ratioClass(link.ratio)})`);
    element.dataset.tip = this.describe(link);
  }

  dressVertex(element, node, part, stop) {
    const alone = this.parts.length > 1 && part?.members.length === 1;
    const colour = this.parts.length > 1 && part && !alone ? ` group-${part.colour}` : "";
    put(element, "class", `vertex${node.running ? "" : " stopped"}${node.behind ? " behind" : ""}${alone ? " alone" : ""}${colour}`);
    put(element, "tabindex", node.node === stop ? 0 : -1);
    put(element, "aria-pressed", node.node === this.chosen);
    const text = this.describe(node);
    element.dataset.tip = text;
    const name = element.querySelector("text");
    const seen = short(node.label);
    if (name.textContent !== seen) name.textContent = seen;
    // The visible text comes first: people who use speech input say what they see.
    put(element, "aria-label", seen === node.label ? text : `${seen}: ${text}`);
  }

  place() {
    const [width, height] = [this.target.clientWidth, this.target.clientHeight];
    if (!this.nodes || width === 0) return;
    put(this.root, "viewBox", `0 0 ${width} ${height}`);
    const points = fit(this.places, width, height, { x: Math.min(64, width / 6), y: 40 });
    this.points = points;
    for (const node of this.nodes) put(this.vertices.get(node.node), "transform", `translate(${points.get(node.node).map(round).join(" ")})`);
    for (const link of this.links) {
      const path = curve(points.get(link.sender), points.get(link.receiver));
      for (const line of this.edges.get(keyOf(link)).children) put(line, "d", path);
    }
    this.outline(points);
  }

  outline(points) {
    const shown = this.parts.length > 1 ? this.parts.filter((part) => part.members.length > 1) : [];
    this.layers.hulls.replaceChildren(...shown.flatMap((part) => {
      const corners = hull(part.members.map((member) => points.get(member)));
      const [x, y] = corners.reduce((top, corner) => (corner[1] < top[1] ? corner : top));
      return [
        s("path", { class: `hull group-${part.colour}`, d: `M${corners.map((corner) => corner.map(round).join(" ")).join("L")}Z`, "stroke-width": 2 * HULL_PX }),
        s("text", { class: `hull-name group-${part.colour}`, x: round(x), y: round(y) - HULL_PX + 12, "text-anchor": "middle", text: part.letter }),
      ];
    }));
  }

  pointed(element, event) {
    const node = element?.dataset.vertex ?? null;
    if (element && !event) this.stop = node ?? this.stop;
    this.light(node ?? this.chosen, element && !node ? element.dataset.key : null);
    if (!element) {
      this.tip.hide();
      return;
    }
    const box = element.getBoundingClientRect();
    this.tip.show(element.dataset.tip, event ? event.clientX : box.left + box.width / 2, (event ? event.clientY : box.top) - 10);
  }

  /** Lights up a node with its links, or one link; everything for null. */
  light(node, edgeKey = null) {
    this.lit = null;
    this.root.classList.toggle("focused", node !== null || edgeKey !== null);
    const near = new Set([node]);
    for (const link of this.links ?? []) {
      const lit = keyOf(link) === edgeKey || (edgeKey === null && (link.sender === node || link.receiver === node));
      this.edges.get(keyOf(link)).classList.toggle("lit", lit);
      if (lit) near.add(link.sender).add(link.receiver);
    }
    for (const [name, element] of this.vertices) element.classList.toggle("lit", near.has(name));
  }

  key(event) {
    const at = event.target.closest("[data-vertex]")?.dataset.vertex;
    if (!at) return;
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key === "Enter" || event.key === " ") this.picked(at);
    else if (event.key === "Escape") this.picked(null);
    else if (ways[event.key]) this.go(at, ways[event.key]);
    else return;
    event.preventDefault();
  }

  /** The focus goes to the nearest node in a direction. */
  go(from, [wayX, wayY]) {
    const [x, y] = this.points.get(from);
    const cost = ([otherX, otherY]) => {
      const along = (otherX - x) * wayX + (otherY - y) * wayY;
      const aside = Math.abs((otherX - x) * wayY) + Math.abs((otherY - y) * wayX);
      return along > 0 && along >= aside / 2 ? along + 2 * aside : Infinity;
    };
    const [next, least] = [...this.points].filter(([name]) => name !== from).map(([name, point]) => [name, cost(point)])
      .reduce((best, one) => (one[1] < best[1] ? one : best), [null, Infinity]);
    if (least === Infinity) return;
    put(this.vertices.get(from), "tabindex", -1);
    put(this.vertices.get(next), "tabindex", 0);
    this.stop = next;
    this.vertices.get(next).focus();
  }
}

/** Makes a map of elements by key agree with a list, and keeps what stays. */
function keep(elements, layer, list, keyOfOne, make) {
  const wanted = new Set(list.map(keyOfOne));
  for (const [key, element] of elements) {
    if (wanted.has(key)) continue;
    element.remove();
    elements.delete(key);
  }
  for (const one of list) {
    const key = keyOfOne(one);
    if (elements.has(key)) continue;
    const element = make(one, key);
    elements.set(key, element);
    layer.append(element);
  }
}

const edge = (_link, key) => s("g", { "data-key": key }, s("path"), s("path", { class: "touch" }));

const vertex = (node, key) =>
  s("g", { "data-key": key, "data-vertex": node.node, role: "button" },
    s("circle", { class: "touch", r: 16 }), s("circle", { class: "dot", r: 8 }), s("text", { y: 23, "text-anchor": "middle" }));

function heads() {
  const names = [...RATIOS.map(([, name]) => name), "ratio-unknown"];
  return s("defs", {}, ...names.map((name) =>
    s("marker", { id: `head-${name}`, class: name, viewBox: "0 0 8 8", refX: 5, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path", { d: "M0 .5 7.5 4 0 7.5z" }))));
}

/** From the rim of one node to the rim of another, bent to its own side so that both directions can be told apart. */
function curve([x1, y1], [x2, y2]) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = Math.hypot(dx, dy) || 1;
  const bend = Math.min(16, length * 0.12);
  const [mx, my] = [(x1 + x2) / 2 - (dy / length) * bend, (y1 + y2) / 2 + (dx / length) * bend];
  const [sx, sy] = towards(x1, y1, mx, my, 10);
  const [ex, ey] = towards(x2, y2, mx, my, 13);
  return `M${round(sx)} ${round(sy)}Q${round(mx)} ${round(my)} ${round(ex)} ${round(ey)}`;
}

function towards(x, y, aimX, aimY, gap) {
  const length = Math.hypot(aimX - x, aimY - y) || 1;
  return [x + ((aimX - x) / length) * gap, y + ((aimY - y) / length) * gap];
}
