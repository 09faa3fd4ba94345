// Who hears whom: a small graph (lines fade with age) and the same links as a table.

import { byId, h, s, swatch, table } from "./dom.js";
import { age, count, many } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const GRAPH_NODES_MAX = 24;
const LABELLED_NODES_MAX = 6;
const NAME_LENGTH_MAX = 12;
const VERTEX_HEIGHT = 30;
const ARROW_GAP = 8;
const BEND = 22;
// A link not heard for so long is drawn dashed: two minutes are several beacons of every peer we know.
const STALE_US = 120e6;
const FADED_US = 600e6;

const round = (n) => Math.round(n * 10) / 10;
const shortName = (name) => (name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 1)}…` : name);
const vertexWidth = (name) => Math.max(44, 22 + 7.4 * shortName(name).length);

/** Places on an ellipse that fills the box, beginning at the top; two nodes stand side by side. */
function positions(nodes, width, height) {
  const widest = Math.max(...nodes.map((node) => vertexWidth(node.label)));
  const radiusX = Math.min(250, (width - widest) / 2 - 8);
  const radiusY = Math.min(190, (height - VERTEX_HEIGHT) / 2 - 10);
  const start = nodes.length < 3 ? Math.PI : -Math.PI / 2;
  return new Map(
    nodes.map((node, index) => {
      const angle = start + (2 * Math.PI * index) / nodes.length;
      const place = { x: width / 2 + radiusX * Math.cos(angle), y: height / 2 + radiusY * Math.sin(angle), half: vertexWidth(node.label) / 2 };
      return [node.node, place];
    }),
  );
}

/** Where the line from a vertex towards (x, y) leaves its frame, `gap` pixels outside. */
function leave(vertex, x, y, gap) {
  const [dx, dy] = [x - vertex.x, y - vertex.y];
  const length = Math.hypot(dx, dy);
  const reach = Math.min(vertex.half / Math.abs(dx / length), VERTEX_HEIGHT / 2 / Math.abs(dy / length)) + gap;
  return [round(vertex.x + (dx / length) * reach), round(vertex.y + (dy / length) * reach)];
}

/** A link's line bends to its own side, so that the two directions of a pair lie apart. */
function curve(from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  const mx = (from.x + to.x) / 2 - (dy / length) * BEND;
  const my = (from.y + to.y) / 2 + (dx / length) * BEND;
  const [sx, sy] = leave(from, mx, my, 3);
  const [ex, ey] = leave(to, mx, my, ARROW_GAP);
  return { path: `M${sx} ${sy}Q${round(mx)} ${round(my)} ${ex} ${ey}`, x: round((sx + 2 * mx + ex) / 4), y: round((sy + 2 * my + ey) / 4) };
}

function signal(link) {
  const parts = [];
  if (link.rssi_dbm !== null) parts.push(`${Math.round(link.rssi_dbm)} dBm`.replace("-", "−"));
  if (link.snr_db !== null) parts.push(`SNR ${link.snr_db.toFixed(1)} dB`.replace("-", "−"));
  return parts.join(", ");
}

export class Links {
  constructor(target, legend) {
    this.target = target;
    this.legend = legend;
    this.view = "graph";
    this.lit = null;
    for (const view of ["graph", "table"]) {
      byId(`links-${view}`).addEventListener("click", () => {
        this.view = view;
        this.draw();
      });
    }
    new ResizeObserver(() => this.resized()).observe(target);
    target.addEventListener("pointermove", (event) => this.pointed(event));
    target.addEventListener("pointerleave", () => this.show(null, null));
    target.addEventListener("focusin", (event) => this.show(event.target.closest("[data-vertex]"), null));
    target.addEventListener("focusout", () => this.show(null, null));
  }

  update(snapshot) {
    this.snapshot = snapshot;
    this.label = new Map(snapshot.nodes.map((node) => [node.node, node.label]));
    this.draw();
  }

  resized() {
    if (this.root && this.target.clientWidth !== this.width) this.draw();
  }

  draw() {
    const { nodes, links } = this.snapshot;
    const crowded = nodes.length > GRAPH_NODES_MAX;
    const view = crowded ? "table" : this.view;
    const focused = this.target.contains(document.activeElement) ? document.activeElement.dataset.vertex : null;
    byId("links-graph").disabled = crowded;
    for (const one of ["graph", "table"]) byId(`links-${one}`).setAttribute("aria-pressed", String(one === view));
    this.root = null;
    this.legend.replaceChildren();
    if (links.length === 0) {
      this.target.replaceChildren(h("p", { class: "nothing", text: "No packet sent by one node was seen by another yet." }));
    } else if (view === "graph") {
      this.target.replaceChildren(this.graph());
      this.explain();
      if (focused) this.root.querySelector(`[data-vertex="${focused}"]`)?.focus();
      else this.light(this.lit);
    } else {
      this.list();
    }
  }

  explain() {
    const measured = this.snapshot.links.some((link) => link.rssi_dbm !== null);
    this.legend.replaceChildren(
      swatch("edge-fresh", "heard lately"),
      swatch("edge-stale", "not for 2 min or more"),
      h("span", { class: "note", text: `thicker: more packets${measured ? "; numbers: RSSI in dBm" : ""}` }),
    );
  }

  describe(link) {
    const heard = age(this.snapshot.as_of_us - link.last_us);
    const strength = signal(link);
    return `${this.name(link.receiver)} heard ${this.name(link.sender)}: ${many(link.packets, "packet")}${strength ? `, ${strength}` : ""}, last ${heard}`;
  }

  name(node) {
    return this.label.get(node) ?? node.slice(0, 8);
  }

  graph() {
    const { nodes, links } = this.snapshot;
    this.width = this.target.clientWidth;
    const height = this.target.clientHeight;
    const places = positions(nodes, this.width, height);
    const most = Math.max(...links.map((link) => link.packets));
    const drawn = links.filter((link) => places.has(link.sender) && places.has(link.receiver));
    const labelled = nodes.length <= LABELLED_NODES_MAX ? drawn.filter((link) => link.rssi_dbm !== null && !this.stale(link)) : [];
    this.root = s(
      "svg",
      { class: "mesh", viewBox: `0 0 ${this.width} ${height}`, role: "group", "aria-label": `${many(drawn.length, "link")} between ${many(nodes.length, "node")}` },
      this.arrowHead(),
      ...drawn.map((link) => this.edge(link, places, most)),
      ...labelled.map((link) => this.strength(link, places)),
      ...nodes.map((node) => this.vertex(node, places.get(node.node))),
    );
    return this.root;
  }

  stale(link) {
    return this.snapshot.as_of_us - link.last_us >= STALE_US;
  }

  arrowHead() {
    const shape = s("path", { d: "M0 .5 7.5 4 0 7.5z" });
    return s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, shape));
  }

  edge(link, places, most) {
    const { path } = curve(places.get(link.sender), places.get(link.receiver));
    const width = 1.2 + 2.6 * (Math.log1p(link.packets) / Math.log1p(most));
    const opacity = Math.max(0.3, 1 - (this.snapshot.as_of_us - link.last_us) / FADED_US);
    return s(
      "g",
      { class: `edge${this.stale(link) ? " stale" : ""}`, "data-sender": link.sender, "data-receiver": link.receiver, "data-tip": this.describe(link), opacity: round(opacity) },
      s("path", { d: path, "stroke-width": round(width), "marker-end": "url(#arrow)" }),
      s("path", { d: path, class: "touch" }),
    );
  }

  strength(link, places) {
    const { x, y } = curve(places.get(link.sender), places.get(link.receiver));
    const text = String(Math.round(link.rssi_dbm)).replace("-", "−");
    return s("text", { class: "strength", x, y: y + 4, "text-anchor": "middle", "data-sender": link.sender, "data-receiver": link.receiver, text });
  }

  vertex(node, place) {
    const heard = this.snapshot.links.filter((link) => link.receiver === node.node);
    const text = `${node.label}${node.running ? "" : " (stopped)"} hears ${many(heard.length, "node")}`;
    return s(
      "g",
      {
        class: `vertex${node.running ? "" : " stopped"}`, "data-vertex": node.node, "data-tip": text, tabindex: "0", role: "img",
        "aria-label": `${text}. ${heard.map((link) => this.describe(link)).join(". ")}`, transform: `translate(${round(place.x)} ${round(place.y)})`,
      },
      s("rect", { x: -place.half, y: -VERTEX_HEIGHT / 2, width: 2 * place.half, height: VERTEX_HEIGHT, rx: VERTEX_HEIGHT / 2 }),
      s("text", { y: 4.5, "text-anchor": "middle", text: shortName(node.label) }),
    );
  }

  pointed(event) {
    this.show(event.target.closest("[data-tip]"), event);
  }

  /** Label and light up what is pointed at or has the focus; nothing for null. */
  show(part, event) {
    this.light(part?.dataset.vertex ?? null);
    if (!part) {
      hideTip();
      return;
    }
    const box = part.getBoundingClientRect();
    showTip(part.dataset.tip, event ? event.clientX : box.left + box.width / 2, (event ? event.clientY : box.top) - 10);
  }

  light(node) {
    this.lit = node;
    if (!this.root) return;
    this.root.classList.toggle("focused", node !== null);
    for (const part of this.root.querySelectorAll("[data-sender]")) {
      part.classList.toggle("lit", part.dataset.sender === node || part.dataset.receiver === node);
    }
  }

  list() {
    const text = (value) => (value === null ? "–" : value.replace("-", "−"));
    const rows = this.snapshot.links.map((link) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", text: this.name(link.receiver) }),
        h("td", { text: this.name(link.sender) }),
        h("td", { class: "num", text: count(link.packets) }),
        h("td", { class: "num", text: text(link.rssi_dbm === null ? null : `${link.rssi_dbm.toFixed(0)} dBm`) }),
        h("td", { class: "num", text: text(link.snr_db === null ? null : `${link.snr_db.toFixed(1)} dB`) }),
        h("td", { class: "num", text: age(this.snapshot.as_of_us - link.last_us) }),
      ),
    );
    const head = ["hears", "from", "packets", "RSSI", "SNR", "last"].map((word, index) => h("th", { scope: "col", class: index > 1 ? "num" : "", text: word }));
    const scrolled = this.target.firstElementChild?.scrollTop ?? 0;
    const box = h("div", { class: "scroll", role: "region", "aria-label": "Who hears whom", tabindex: "0" }, table({ caption: "Who hears whom", className: "plain", head, rows }));
    this.target.replaceChildren(box);
    box.scrollTop = scrolled;
  }
}
