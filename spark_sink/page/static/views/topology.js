// Links: the graph with fading links, its parts, a slider through time, every link as a row, splits and joins.

import { card, h, nodeLink, setText, swatch, tool } from "../dom.js";
import { age, count, dayTime, decibels, many, percent, time } from "../format.js";
import { isStale, Mesh, NODES_MAX, parts, RATIOS, ratioClass } from "../mesh.js";
import { savePicture } from "../picture.js";
import { nothing } from "../states.js";
import { csvLink, Table } from "../table.js";
import { TimeSlider } from "../timeslider.js";
import { hideTip, showTip } from "../tip.js";

const PATH = "/api/topology";
const UNEVEN = 0.3; // directions of a pair whose delivery differs by more are pointed out
const CHANGES_SHOWN = 200;

export const title = () => "Topology";

const signal = (link) => [link.snr_db === null ? null : `SNR ${decibels(link.snr_db)}`, link.rssi_dbm === null ? null : decibels(link.rssi_dbm, "dBm")].filter(Boolean).join(", ");

export async function show(root, context) {
  const view = new Topology(root, context);
  await view.update({ kind: "query" });
  return view;
}

class Topology {
  constructor(root, context) {
    this.context = context;
    this.graph = h("div", { class: "mesh-box" });
    this.about = h("div", { class: "picked", "aria-live": "polite" });
    this.slider = new TimeSlider((at) => context.set({ at }, { replace: true }));
    this.all = tool("All links", () => context.set({ node: null }));
    this.card = card({ id: "mesh", title: "Links", wide: true, tools: [tool("PNG", () => savePicture(this.graph.querySelector("svg"), "topology"), "Save the graph as a picture")] });
    this.card.body.append(this.slider.element, this.graph, this.about);
    this.card.footer.className = "legend";
    this.links = card({ id: "links", title: "Links", wide: true, tools: [this.all, csvLink(() => context.csv(PATH, this.moment()))] });
    this.table = this.makeTable();
    this.links.body.append(this.table.element);
    this.changes = card({ id: "changes", title: "Splits and joins", wide: true, sub: "When the mesh split and joined again." });
    this.changeTable = this.makeChanges();
    this.changes.body.append(this.changeTable.element);
    root.append(h("div", { class: "grid" }, this.card.element, this.links.element, this.changes.element));
    this.mesh = new Mesh(this.graph, {
      describe: (one) => this.describe(one),
      picked: (node) => context.set({ node: node === context.get("node") ? null : node }),
      tip: { show: showTip, hide: hideTip },
    });
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
      caption: "Links", columns, key: (link) => `${link.sender}>${link.receiver}`, sort: "receiver", empty: "No packet of one node was heard by another in this period.",
      state: { get: () => context.get("sort"), set: (sort) => context.set({ sort }, { replace: true }) },
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

  /** Time parameters of what is asked for: up to the cursor, or the whole range. */
  moment() {
    const { at } = this.context.range;
    return at === null ? {} : { to: at };
  }

  node(id) {
    return this.byId.get(id) ?? { node: id, label: id.slice(0, 8) };
  }

  name(id) {
    return this.node(id).label;
  }

  back(link) {
    return this.pairs.get(`${link.receiver}>${link.sender}`);
  }

  uneven(link) {
    const back = this.back(link);
    return Boolean(back) && link.ratio !== null && back.ratio !== null && Math.abs(link.ratio - back.ratio) >= UNEVEN;
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

  /** The parts of a split or a join, or the node of the change. */
  who({ detail, label }) {
    const names = (some) => some.map((id) => this.name(id)).join(", ");
    if (detail?.parts) return detail.parts.map(names).join(" | ");
    return detail?.nodes ? names(detail.nodes) : label;
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const body = await this.context.load(PATH, this.moment());
    const { at, node } = { at: this.context.range.at, node: this.context.get("node") };
    this.byId = new Map(body.nodes.map((one) => [one.node, one]));
    this.pairs = new Map(body.links.map((link) => [`${link.sender}>${link.receiver}`, link]));
    this.body = body;
    this.atUs = at ?? body.to_us;
    this.slider.update(this.context.range, this.latest(body), body.links.reduce((first, link) => Math.min(first, link.first_us), Infinity));
    this.say(body);
    this.draw(body, this.byId.has(node) ? node : null);
    this.changeTable.set(body.changes.slice(0, CHANGES_SHOWN));
  }

  /** The newest record's time, also while an earlier moment is looked at. */
  latest(body) {
    return this.context.asOfUs ?? body.as_of_us;
  }

  say(body) {
    const pieces = parts(body.nodes);
    const whole = pieces.filter((piece) => piece.members.length > 1);
    const alone = pieces.length - whole.length;
    const words = pieces.length === 0 ? "" : whole.length > 1 ? `The mesh is in ${whole.length} parts` : "The mesh is in one piece";
    const apart = alone && pieces.length > 1 ? `, ${many(alone, "node")} on ${alone === 1 ? "its" : "their"} own` : "";
    const hidden = body.nodes.length > NODES_MAX ? ` The ${NODES_MAX} nodes with the most links are drawn.` : "";
    setText(this.card.sub, `${words}${apart}${words ? ". " : ""}${many(body.nodes.length, "node")}, ${many(body.links.length, "link")}.${hidden}`);
  }

  draw(body, chosen) {
    this.graph.classList.toggle("none", body.nodes.length === 0);
    const nodes = mostLinked(body);
    this.mesh.update({ nodes, links: body.links, atUs: this.atUs, chosen });
    this.all.hidden = chosen === null;
    setText(this.links.sub, chosen === null ? "Which nodes each node hears, and how well." : `Links of ${this.name(chosen)}.`);
    this.table.set(chosen === null ? body.links : body.links.filter((link) => link.sender === chosen || link.receiver === chosen));
    this.about.replaceChildren(...(chosen === null
      ? [h("span", { class: "soft", text: body.nodes.length ? "Point at a node or a link, or choose a node with Tab, arrow keys and Enter." : "" })]
      : [h("span", { text: `${this.describe(this.node(chosen))}. ` }), h("a", { href: `/node/${chosen}`, text: `Everything about ${this.name(chosen)}` })]));
    this.legend(body.links);
    if (body.nodes.length === 0) this.about.replaceChildren(nothing("No node in this period. Choose a longer one above."));
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
  [nodes.some((node) => node.behind), "dot-behind", "behind"],
  [nodes.some((node) => !node.running), "dot-stopped", "stopped"],
].filter(([some]) => some).map(([, name, words]) => swatch(`round ${name}`, words));

/** As many nodes as can be drawn, those with the most links. */
function mostLinked({ nodes, links }) {
  if (nodes.length <= NODES_MAX) return nodes;
  const degree = new Map();
  for (const { sender, receiver } of links) for (const one of [sender, receiver]) degree.set(one, (degree.get(one) ?? 0) + 1);
  return [...nodes].sort((a, b) => (degree.get(b.node) ?? 0) - (degree.get(a.node) ?? 0) || (a.node < b.node ? -1 : 1)).slice(0, NODES_MAX);
}
