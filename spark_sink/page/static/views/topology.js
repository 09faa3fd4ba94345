// The nodes that hear each other: a graph with fading links, its parts, a slider through time.

import { card, h, setText, swatch, tool } from "../dom.js";
import { age, count, decibels, many, percent } from "../format.js";
import { isStale, Mesh, NODES_MAX, parts, RATIOS, ratioClass } from "../mesh.js";
import { savePicture } from "../picture.js";
import { begin, nothing } from "../states.js";
import { TimeSlider } from "../timeslider.js";
import { hideTip, showTip } from "../tip.js";
import { TopologyView } from "../topology_view.js";

const signal = (link) => [link.snr_db === null ? null : `SNR ${decibels(link.snr_db)}`, link.rssi_dbm === null ? null : decibels(link.rssi_dbm, "dBm")].filter(Boolean).join(", ");

export const show = (root, context) => begin(new Topology(root, context));

class Topology extends TopologyView {
  constructor(root, context) {
    super(context);
    this.graph = h("div", { class: "mesh-box" });
    this.about = h("div", { class: "picked", "aria-live": "polite" });
    this.slider = new TimeSlider((at) => context.set({ at }, { replace: true }));
    this.card = card({ id: "mesh", title: "Who hears whom", wide: true, tools: [tool("PNG", () => savePicture(this.graph.querySelector("svg"), "topology"), "Save the graph as a picture")] });
    this.card.body.append(this.slider.element, this.graph, this.about);
    this.card.footer.className = "legend";
    root.append(h("div", { class: "grid" }, this.card.element));
    this.mesh = new Mesh(this.graph, {
      describe: (one) => this.describe(one),
      picked: (node) => context.set({ node: node === context.get("node") ? null : node }),
      tip: { show: showTip, hide: hideTip },
    });
  }

  describe(one) {
    if (one.node) {
      const heard = this.body.links.filter((link) => link.receiver === one.node).length;
      const hearing = this.body.links.filter((link) => link.sender === one.node).length;
      return `${one.label}${one.running ? "" : " (stopped)"} hears ${many(heard, "node")}, is heard by ${count(hearing)}${one.behind ? `, ${many(one.behind, "entry", "entries")} behind` : ""}`;
    }
    const strength = signal(one);
    const share = one.ratio === null ? "" : ` (${percent(one.ratio)})`;
    return `${this.name(one.receiver)} hears ${this.name(one.sender)}: ${count(one.heard)} of ${many(one.sent, "packet")}${share}${strength ? `, ${strength}` : ""}, last ${age(this.atUs - one.last_us)}`;
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const body = await this.load();
    this.body = body;
    this.slider.update(this.context.range, this.latest(body), body.links.reduce((first, link) => Math.min(first, link.first_us), Infinity));
    this.say(body);
    this.draw(body, this.chosen);
  }

  /** The newest record's time, also while an earlier moment is looked at. */
  latest(body) {
    return this.context.asOfUs ?? body.as_of_us;
  }

  say(body) {
    const pieces = parts(body.nodes);
    const whole = pieces.filter((piece) => piece.members.length > 1);
    const alone = pieces.length - whole.length;
    const words = pieces.length === 0 ? "" : whole.length > 1 ? `The mesh is in ${whole.length} parts` : "In one piece over the last half hour; a shorter cut does not show here";
    const apart = alone && pieces.length > 1 ? `, ${many(alone, "node")} on ${alone === 1 ? "its" : "their"} own` : "";
    const hidden = body.nodes.length > NODES_MAX ? ` The ${NODES_MAX} nodes with the most links are drawn.` : "";
    setText(this.card.sub, `${words}${apart}${words ? ". " : ""}${many(body.nodes.length, "node")}, ${many(body.links.length, "link")}.${hidden}`);
  }

  draw(body, chosen) {
    this.graph.classList.toggle("none", body.nodes.length === 0);
    const nodes = mostLinked(body);
    this.mesh.update({ nodes, links: body.links, atUs: this.atUs, chosen });
    this.about.replaceChildren(...(chosen === null
      ? [h("span", { class: "soft", text: body.nodes.length ? "Point at a node or a link, or choose a node with Tab, arrow keys and Enter." : "" })]
      : [h("span", { text: `${this.describe(this.node(chosen))}. ` }), h("a", { href: `/node/${chosen}`, text: `Everything about ${this.name(chosen)}` })]));
    this.legend(body.links);
    if (body.nodes.length === 0) this.about.replaceChildren(nothing("Nodes appear here once their logs are read, with an arrow to each node that hears them."));
  }

  legend(links) {
    const some = new Set(links.map((link) => ratioClass(link.ratio)));
    const keys = RATIOS.filter(([, name]) => some.has(name)).map(([, name, words]) => swatch(`line ${name}`, words));
    const stale = links.some((link) => isStale(this.atUs - link.last_us));
    this.card.footer.replaceChildren(
      ...(links.length ? [h("span", { text: "Delivered:" }), ...keys, ...dotKeys(this.body.nodes), stale ? swatch("line ratio-unknown stale", "not heard for an hour") : null, h("span", { class: "note", text: "thicker: more packets · paler: longer ago" })].filter(Boolean) : []),
    );
  }

  close() {
    this.slider.close();
    this.mesh.close();
  }
}

/** What the dots of nodes mean, of those that are there. */
export const dotKeys = (nodes) => [
  [nodes.some((node) => !node.behind && node.running), "dot-whole", "has everything"],
  [nodes.some((node) => node.behind), "dot-behind", "lacks messages"],
  [nodes.some((node) => !node.running), "dot-stopped", "stopped"],
].filter(([some]) => some).map(([, name, words]) => swatch(`round ${name}`, words));

/** As many nodes as can be drawn, those with the most links. */
function mostLinked({ nodes, links }) {
  if (nodes.length <= NODES_MAX) return nodes;
  const degree = new Map();
  for (const { sender, receiver } of links) for (const one of [sender, receiver]) degree.set(one, (degree.get(one) ?? 0) + 1);
  return [...nodes].sort((a, b) => (degree.get(b.node) ?? 0) - (degree.get(a.node) ?? 0) || (a.node < b.node ? -1 : 1)).slice(0, NODES_MAX);
}
