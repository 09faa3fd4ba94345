// Who hears whom: a small graph (lines fade with age) and the same links as a table.

import { byId, h, s, swatch, table } from "./dom.js";
import { age, count, many } from "./format.js";

const GRAPH_NODES_MAX = 24;
const LABELLED_NODES_MAX = 6;
const BOX = { width: 560, height: 372 };
const NODE_RADIUS = 21;
// A link not heard for so long is drawn dashed: two minutes are several beacons of every peer we know.
const STALE_US = 120e6;
const FADED_US = 600e6;

const round = (n) => Math.round(n * 10) / 10;

function positions(nodes) {
  const radiusX = nodes.length < 3 ? 130 : 196;
  const radiusY = nodes.length < 3 ? 0 : 128;
  const start = nodes.length < 3 ? Math.PI : -Math.PI / 2;
  return new Map(
    nodes.map((node, index) => {
      const angle = start + (2 * Math.PI * index) / nodes.length;
      return [node.node, { x: BOX.width / 2 + radiusX * Math.cos(angle), y: BOX.height / 2 - 4 + radiusY * Math.sin(angle) }];
    }),
  );
}

/** A link's line bends to its own side, so that the two directions of a pair lie apart. */
function curve(from, to) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const bend = 12;
  const [mx, my] = [(from.x + to.x) / 2 - uy * bend * 2, (from.y + to.y) / 2 + ux * bend * 2];
  const edge = (from_, gap) => {
    const ax = mx - from_.x;
    const ay = my - from_.y;
    const size = Math.hypot(ax, ay);
    return [round(from_.x + (ax / size) * gap), round(from_.y + (ay / size) * gap)];
  };
  const [sx, sy] = edge(from, NODE_RADIUS + 3);
  const [ex, ey] = edge(to, NODE_RADIUS + 9);
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
    for (const view of ["graph", "table"]) {
      byId(`links-${view}`).addEventListener("click", () => {
        this.view = view;
        this.draw();
      });
    }
  }

  update(snapshot) {
    this.snapshot = snapshot;
    this.label = new Map(snapshot.nodes.map((node) => [node.node, node.label]));
    this.draw();
  }

  draw() {
    const { nodes, links } = this.snapshot;
    const crowded = nodes.length > GRAPH_NODES_MAX;
    const view = crowded ? "table" : this.view;
    byId("links-graph").disabled = crowded;
    for (const one of ["graph", "table"]) byId(`links-${one}`).setAttribute("aria-pressed", String(one === view));
    this.legend.replaceChildren();
    if (links.length === 0) {
      this.target.replaceChildren(h("p", { class: "nothing", text: "No packet sent by one node was seen by another yet." }));
    } else if (view === "graph") {
      this.target.replaceChildren(this.graph());
      this.explain();
    } else {
      this.target.replaceChildren(this.list());
    }
  }

  explain() {
    this.legend.replaceChildren(
      swatch("edge-fresh", "heard lately"),
      swatch("edge-stale", "not for 2 min or more"),
      h("span", { class: "note", text: "thicker: more packets" }),
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
    const places = positions(nodes);
    const most = Math.max(...links.map((link) => link.packets));
    const drawn = links.filter((link) => places.has(link.sender) && places.has(link.receiver) && link.sender !== link.receiver);
    const labelled = nodes.length <= LABELLED_NODES_MAX;
    const root = s("svg", { class: "mesh", viewBox: `0 0 ${BOX.width} ${BOX.height}`, role: "group", "aria-label": `${many(drawn.length, "link")} between ${many(nodes.length, "node")}` });
    root.append(this.arrowHeads(), ...drawn.map((link) => this.edge(link, places, most)));
    if (labelled) root.append(...drawn.map((link) => this.strength(link, places)));
    root.append(...nodes.map((node) => this.node(node, places.get(node.node), root)));
    return root;
  }

  arrowHeads() {
    const head = (id) => s("marker", { id, viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 .5 7.5 4 0 7.5z" }));
    return s("defs", {}, head("arrow"));
  }

  edge(link, places, most) {
    const { path } = curve(places.get(link.sender), places.get(link.receiver));
    const old = this.snapshot.as_of_us - link.last_us;
    const width = 1.2 + 2.6 * (Math.log1p(link.packets) / Math.log1p(most));
    const opacity = Math.max(0.28, 1 - old / FADED_US);
    const group = s(
      "g",
      { class: `edge${old >= STALE_US ? " stale" : ""}`, "data-sender": link.sender, "data-receiver": link.receiver, opacity: round(opacity) },
      s("path", { d: path, "stroke-width": round(width), "marker-end": "url(#arrow)" }),
      s("path", { d: path, class: "touch" }),
      s("title", { text: this.describe(link) }),
    );
    return group;
  }

  strength(link, places) {
    const { x, y } = curve(places.get(link.sender), places.get(link.receiver));
    const text = link.rssi_dbm === null ? count(link.packets) : `${Math.round(link.rssi_dbm)}`.replace("-", "−");
    return s("text", { class: "strength", x, y: y + 4, "text-anchor": "middle", "data-sender": link.sender, "data-receiver": link.receiver, text });
  }

  node(node, place, root) {
    const heard = this.snapshot.links.filter((link) => link.receiver === node.node).map((link) => this.describe(link));
    const text = `${node.label}. ${heard.join(". ") || "Heard nobody yet"}.`;
    const group = s(
      "g",
      { class: `vertex${node.running ? "" : " stopped"}`, tabindex: "0", role: "img", "aria-label": text, transform: `translate(${round(place.x)} ${round(place.y)})` },
      s("circle", { r: NODE_RADIUS }),
      s("text", { y: 4, "text-anchor": "middle", text: node.label.slice(0, 5) }),
      s("title", { text: text.replaceAll(". ", "\n") }),
    );
    const focus = (on) => this.highlight(root, on ? node.node : null);
    group.addEventListener("pointerenter", () => focus(true));
    group.addEventListener("pointerleave", () => focus(false));
    group.addEventListener("focus", () => focus(true));
    group.addEventListener("blur", () => focus(false));
    return group;
  }

  highlight(root, node) {
    root.classList.toggle("focused", node !== null);
    for (const part of root.querySelectorAll("[data-sender]")) {
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
    return table({ caption: "Who hears whom", className: "plain", head, rows });
  }
}
