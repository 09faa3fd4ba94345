// The node's status: its links, and its airtime by law.

import { ApiError, get } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { Readings } from "/static/readings.js";
import { count, duration, line, visible } from "/static/words.js";

const EVERY_MS = 5_000;
const MEDIUM = { air: "radio", lan: "local network", stream: "connection" };

export class NodeView {
  constructor() {
    this.about = h("p", { class: "soft", role: "status", text: "Loading…" });
    this.facts = h("dl", { class: "facts card" });
    this.limits = h("ul", { class: "cards", hidden: true });
    this.links = h("ul", { class: "cards" });
    this.airtime = h("ul", { class: "cards" });
    this.readings = new Readings();
    this.subjects = h("div", { class: "cards" });
    this.body = h("div", { class: "cards", hidden: true }, this.facts, this.limits, h("h2", { text: "Links" }), this.links, h("h2", { text: "Airtime" }), this.airtime);
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: "Node" }), this.about, this.body, this.readings.element, this.subjects);
    this.timer = setInterval(() => { if (!document.hidden) this.refresh(); }, EVERY_MS);
  }

  close() {
    clearInterval(this.timer);
  }

  async refresh() {
    this.readings.refresh();
    this.readSubjects();
    try {
      this.draw(await get("/api/node"));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, this.body.hidden ? `${error.message} ${error.hint}` : `${error.message} Below is its last known state.`);
    }
  }

  /** Shows what optional parts of the node store, such as PZP messages; once, since it is a lot to read. */
  async readSubjects() {
    if (this.subjectsAsked) return;
    this.subjectsAsked = true;
    try {
      const { pages } = await get("/api/subjects");
      this.subjects.replaceChildren(...pages.flatMap(subject));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.subjects.replaceChildren(h("p", { class: "soft", text: `${error.message} ${error.hint}` }));
    }
  }

  draw(found) {
    this.body.hidden = false;
    setText(this.about, found.read_only ? `Running, but cannot write: ${found.read_only}` : "Running.");
    this.facts.replaceChildren(
      ...facts([
        ["Name", h("bdi", { text: line(found.name) })],
        ["Feed", h("span", { class: "digits", text: found.feed })],
        ["Running for", duration(found.uptime_us)],
        ["Stored", `${count(found.entries, "entry", "entries")} of ${count(found.feeds, "feed")}`],
        ...found.pending.map((words) => ["Follows", words]),
        ...found.disk.flatMap(room),
        ["Version", found.version],
      ]),
    );
    this.limits.hidden = !found.limits.length;
    this.limits.replaceChildren(...found.limits.map(limit));
    const broken = found.endpoints.filter((one) => one.problem).map(problem);
    const links = [...found.links.map(link), ...broken];
    this.links.replaceChildren(...(links.length ? links : [h("li", { class: "card soft", text: "No link is up. Links are configured in config.toml." })]));
    const bands = found.airtime.map(band);
    this.airtime.replaceChildren(...(bands.length ? bands : [h("li", { class: "card soft", text: "No radio with an airtime limit." })]));
  }
}

const facts = (rows) => rows.flatMap(([term, value]) => [h("dt", { text: term }), h("dd", {}, value)]);

function link(row) {
  const heard = row.heard_us === null ? "never" : `${duration(row.heard_us)} ago`;
  return h(
    "li",
    { class: "card" },
    h("h3", {}, h("bdi", { text: line(row.face, 60) })),
    h("dl", { class: "facts" }, ...facts([
      ["Kind", MEDIUM[row.medium] ?? row.medium],
      ["Last received", heard],
      ["Packets", `${row.received.toLocaleString()} received, ${row.new.toLocaleString()} of them new; ${row.sent.toLocaleString()} sent`],
      ["Waiting", count(row.queued + row.outstanding, "packet")],
    ])),
  );
}

function subject(page) {
  const text = page.lines.map(visible).join("\n");
  return [h("h2", { text: line(page.title) }), h("pre", { class: "card lines", tabindex: "0", "aria-label": line(page.title), text })];
}

function room(one) {
  const of = one.network === "default" ? "" : ` of ${one.network}`;
  const rows = [[`Disk${of}`, line(one.use, 200)], [`Biggest others${of}`, line(one.biggest || "none", 300)]];
  return one.problem === null ? rows : [...rows, [`Disk problem${of}`, h("span", { class: "failed", text: line(one.problem, 500) })]];
}

function limit(one) {
  return h("li", { class: "card" }, h("h2", { text: "A limit was reached" }), h("p", { text: `${line(one.what, 200)}. ${line(one.todo, 300)}` }));
}

function problem(one) {
  return h("li", { class: "card" }, h("h3", {}, h("bdi", { text: line(one.spec, 80) })), h("p", { class: "failed", text: line(one.problem, 300) }));
}

function band(row) {
  const share = row.limit_us ? (100 * row.used_us) / row.limit_us : 0;
  const text = `${duration(row.used_us)} of ${duration(row.limit_us)} used in the last ${duration(row.window_us)} (${share.toFixed(0)} %)`;
  const next = row.wait_us === null ? "not while the disk is full" : row.wait_us === 0 ? "now" : `in ${duration(row.wait_us)}`;
  const id = `band-${row.band.replace(/\W/g, "-")}`;
  return h(
    "li",
    { class: "card" },
    h("h3", { id, text: row.band }),
    h("meter", { min: "0", max: "100", value: String(share), high: "80", optimum: "0", "aria-labelledby": id, text: `${share.toFixed(0)} %` }),
    h("p", { text }),
    h("dl", { class: "facts" }, ...facts([
      ["Left", `${duration(row.left_us)}; a full packet takes ${duration(row.full_us)}`],
      ["Next message", next],
      ["Sent by", row.faces.length ? row.faces.map((face) => line(face, 40)).join(", ") : "no link that is up"],
    ])),
  );
}
