// Journey of one message: when it reached each node, over which hop, its transmissions, and the nodes that lack it.

import { card, choice, facts, feedLink, h, nodeLink, setText, tool } from "../dom.js";
import { bytes, count, many, shortId, span, time } from "../format.js";
import { draw, lines, ROWS_MAX, startOf, wantsLog } from "../journey.js";
import { savePicture } from "../picture.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";
import { hideTip, showTip } from "../tip.js";

const NARROWEST_PX = 300;

export const title = ({ seq }) => `Message #${seq}`;

export const show = (root, context) => begin(new Message(root, context));

class Message {
  constructor(root, context) {
    this.context = context;
    this.path = `/api/message/${context.params.feed}/${context.params.seq}`;
    this.about = card({ id: "about", title: "The message", wide: true });
    this.axes = choice("Time axis", [["linear", "Even"], ["log", "Logarithmic"]], "linear", (axis) => context.set({ axis }, { replace: true }));
    this.way = card({ id: "way", title: "Its way through the mesh", wide: true, tools: [this.axes.element, tool("PNG", () => savePicture(this.box.querySelector("svg"), `message-${context.params.seq}`), "Save the figure as a picture")] });
    this.way.footer.className = "legend";
    this.box = h("div", { class: "journey-box" });
    this.way.body.append(this.box);
    this.arrivals = card({ id: "arrivals", title: "Arrivals", tools: [csvLink(() => context.csv(this.path))] });
    this.table = this.makeTable();
    this.arrivals.body.append(this.table.element);
    this.missing = card({ id: "missing", title: "Still missing it" });
    this.missingTable = this.makeMissing();
    this.missing.body.append(this.missingTable.element);
    root.append(h("div", { class: "grid" }, this.about.element, this.way.element, this.arrivals.element, this.missing.element));
    this.watcher = new ResizeObserver(() => this.box.clientWidth !== this.width && this.draw());
    this.watcher.observe(this.box);
    this.box.addEventListener("pointermove", (event) => this.pointed(event));
    this.box.addEventListener("pointerleave", hideTip);
  }

  makeTable() {
    const whole = (row) => (row.whole_us === null ? null : row.whole_us - this.sinceUs);
    const columns = [
      { key: "node", label: "node", head: true, value: (row) => row.label, cell: nodeLink },
      { key: "delay", label: "after", num: true, title: "since publication, or since it was first seen if that is not known", value: (row) => row.t_us - this.sinceUs, text: (row) => (row.origin === "own" ? "published" : span(row.t_us - this.sinceUs)), className: (row) => (row.t_us < this.sinceUs ? "warn" : ""), tip: (row) => (row.t_us < this.sinceUs ? "Below zero: the clocks could not be corrected this precisely." : "") },
      { key: "from", label: "from", value: (row) => row.from_label, text: (row) => `${row.from ?? row.origin}`, cell: (row) => (row.from ? nodeLink({ node: row.from, label: row.from_label }) : h("span", { class: "soft", text: row.origin === "import" ? "a file" : row.origin === "own" ? "–" : "not known" })) },
      { key: "hop", label: "hop", num: true, title: "since its sender had it", value: (row) => row.hop_us, text: (row) => span(row.hop_us) },
      { key: "face", label: "face", value: (row) => row.face, text: (row) => row.face || "–" },
      { key: "whole", label: "whole after", num: true, title: "until the last chunk of its side chain arrived", value: whole, text: (row) => span(whole(row)) },
    ];
    return new Table({ caption: "Arrivals", columns, key: (row) => row.node, sort: "delay", empty: "It has not arrived at any node whose log was read." });
  }

  makeMissing() {
    const columns = [
      { key: "node", label: "node", head: true, value: (row) => row.label, cell: nodeLink },
      { key: "behind", label: "behind in this feed", num: true, title: "entries it lacks of this feed", value: (row) => row.behind, text: (row) => many(row.behind, "entry", "entries") },
    ];
    return new Table({ caption: "Nodes that still miss it", columns, key: (row) => row.node, sort: "-behind", empty: "None: every node has it." });
  }

  async update({ kind }) {
    if (kind === "theme") return;
    this.body = await this.context.load(this.path);
    const { entry, arrivals, missing } = this.body;
    this.entry = entry;
    this.sinceUs = startOf(this.body);
    this.context.heading(`${entry.label ?? shortId(entry.feed)} #${entry.seq}`);
    this.tell(entry, arrivals, missing);
    const came = arrivals.filter((one) => one.origin !== "own");
    setText(this.arrivals.sub, came.length ? `Arrived at ${many(came.length, "node")}.` : "It has not arrived at another node yet.");
    setText(this.missing.sub, missing.length ? `${many(missing.length, "node")} without it so far.` : "");
    this.table.set(arrivals);
    this.missingTable.set(missing);
    this.draw();
  }

  tell(entry, arrivals, missing) {
    const last = arrivals.reduce((most, one) => Math.max(most, one.t_us - this.sinceUs), 0);
    const seq = Number(entry.seq);
    const step = (to, text) => (to < 1 ? null : h("a", { href: `/message/${entry.feed}/${to}`, text }));
    this.about.body.replaceChildren(facts([
      ["feed", feedLink(entry)],
      [entry.t_us === null ? "first seen" : "published", h("span", {}, time(this.sinceUs), entry.publisher ? " by " : "", entry.publisher ? nodeLink(this.nodeOf(entry.publisher, arrivals)) : "")],
      ["size", entry.chunks ? `${bytes(entry.size)} in ${many(entry.chunks, "chunk")}` : bytes(entry.size)],
      [missing.length ? "reached so far" : "reached everybody", missing.length ? `${count(arrivals.length)} of ${many(arrivals.length + missing.length, "node")}` : `after ${span(last)}`],
      ["sent", many(this.body.transmissions.length, "time")],
      ["message id", h("code", { title: entry.id, text: shortId(entry.id) })],
      ["neighbours", h("span", { class: "steps" }, step(seq - 1, `#${seq - 1}`), step(seq + 1, `#${seq + 1}`))],
    ]));
  }

  nodeOf(id, arrivals) {
    return arrivals.find((one) => one.node === id) ?? { node: id, label: id.slice(0, 8) };
  }

  draw() {
    if (!this.body) return;
    const log = this.context.get("axis", wantsLog(this.body.arrivals) ? "log" : "linear") === "log";
    this.axes.set(log ? "log" : "linear");
    this.width = this.box.clientWidth;
    const { left } = lines(this.body);
    setText(this.way.sub, `From top to bottom in order of arrival${log ? "; the axis is logarithmic" : ""}.${left ? ` The ${ROWS_MAX / 2} earliest and the ${ROWS_MAX / 2} latest are drawn; ${count(left)} more are in the table.` : ""}`);
    this.box.replaceChildren(draw(this.body, Math.max(NARROWEST_PX, this.width), log));
    this.way.footer.replaceChildren(...legend(this.body));
  }

  pointed(event) {
    const part = event.target.closest("[data-tip]");
    if (part) showTip(part.dataset.tip, event.clientX, event.clientY - 10);
    else hideTip();
  }

  close() {
    this.watcher.disconnect();
  }
}

function legend({ entry, transmissions, missing }) {
  const key = (name, text) => h("span", { class: "key" }, h("i", { class: `glyph ${name}` }), text);
  return [
    key("came", "entry came"),
    entry.chunks ? key("whole", "side chain complete") : null,
    transmissions.length ? key("gave", "sent, new to a receiver") : null,
    transmissions.some((one) => one.new_at.length === 0) ? key("sent", "sent, new to no receiver") : null,
    missing.length ? key("not-yet", "not yet") : null,
  ].filter(Boolean);
}
