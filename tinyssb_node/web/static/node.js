// The node's status: its links, and its airtime by law.

import { ApiError, get } from "/static/api.js";
import { languageChoice } from "/static/choice.js";
import { h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { Readings } from "/static/readings.js";
import { agoOf, decimal, duration, line, number, visible } from "/static/words.js";

const EVERY_MS = 5_000;
const MEDIUM = { air: t("radio"), lan: t("local network"), stream: t("connection") };

export class NodeView {
  constructor() {
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.facts = h("dl", { class: "facts card" });
    this.alerts = h("ul", { class: "cards", "aria-label": t("Alerts"), hidden: true });
    this.limits = h("ul", { class: "cards", hidden: true });
    this.links = h("ul", { class: "cards" });
    this.neighbours = h("section", { class: "cards", hidden: true });
    this.airtime = h("ul", { class: "cards" });
    this.readings = new Readings();
    this.history = h("div");
    this.subjects = h("div", { class: "cards" });
    this.language = h("div", { hidden: true }, languageChoice()); // below what is loaded first, so that nothing moves
    this.body = h("div", { class: "cards", hidden: true }, this.facts, this.limits, h("h2", { text: t("Links") }), this.links, this.neighbours, h("h2", { text: t("Airtime") }), this.airtime);
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("Node") }), this.about, this.alerts, this.body, this.history, this.readings.element, this.subjects, this.language);
    this.timer = setInterval(() => { if (!document.hidden) this.refresh(); }, EVERY_MS);
  }

  close() {
    clearInterval(this.timer);
    this.week?.close();
    this.closed = true;
  }

  async refresh() {
    this.readAlerts();
    this.readHistory();
    this.readings.refresh();
    this.readSubjects();
    try {
      this.draw(await get("/api/node"));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, this.body.hidden ? `${error.message} ${error.hint}` : `${error.message} ${t("Below is its last known state.")}`);
    } finally {
      this.language.hidden = false;
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

  /** Shows the last week. Its code is loaded with it: the first load of the page has to be small. */
  async readHistory() {
    this.loading ??= import("/static/history.js").then(
      ({ History }) => {
        this.week = new History();
        this.history.replaceWith(this.week.element);
      },
      () => { this.loading = null; }, // loaded with the next refresh
    );
    await this.loading;
    if (!this.closed) this.week?.refresh();
  }

  /** Shows what is wrong, also while the daemon is away. */
  async readAlerts() {
    try {
      const { alerts } = await get("/api/alerts");
      const drawn = JSON.stringify(alerts);
      if (drawn === this.drawnAlerts) return;
      this.drawnAlerts = drawn;
      this.alerts.hidden = !alerts.length;
      this.alerts.replaceChildren(...alerts.map(alert));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // the node's state, above, says what is wrong
    }
  }

  draw(found) {
    this.body.hidden = false;
    setText(this.about, found.read_only ? t("Running, but cannot write: {reason}", { reason: found.read_only }) : t("Running."));
    this.facts.replaceChildren(
      ...facts([
        [t("Name"), h("bdi", { text: line(found.name) })],
        [t("Feed"), h("span", { class: "digits", text: found.feed })],
        [t("Running for"), duration(found.uptime_us)],
        [t("Stored"), `${tn(found.entries, "{n} entry", "{n} entries")} ${tn(found.feeds, "of {n} feed", "of {n} feeds")}`],
        ...found.pending.map((words) => [t("Pending"), words]),
        ...found.disk.flatMap(room),
        [t("Version"), found.version],
      ]),
    );
    this.limits.hidden = !found.limits.length;
    this.limits.replaceChildren(...found.limits.map(limit));
    const broken = found.endpoints.filter((one) => one.problem).map(problem);
    const links = [...found.links.map(link), ...broken];
    const heard = found.neighbours.map(neighbour);
    this.neighbours.hidden = !heard.length;
    this.neighbours.replaceChildren(...(heard.length ? [h("h2", { text: t("Nodes heard by radio") }), h("ul", { class: "cards" }, ...heard)] : []));
    this.links.replaceChildren(...(links.length ? links : [h("li", { class: "card soft", text: t("No link is up. Links are configured in config.toml.") })]));
    const bands = found.airtime.map(band);
    this.airtime.replaceChildren(...(bands.length ? bands : [h("li", { class: "card soft", text: t("No radio with an airtime limit.") })]));
  }
}

const facts = (rows) => rows.flatMap(([term, value]) => [h("dt", { text: term }), h("dd", {}, value)]);

function link(row) {
  const heard = row.heard_us === null ? t("never") : agoOf(row.heard_us);
  return h(
    "li",
    { class: "card" },
    h("h3", {}, h("bdi", { text: line(row.face, 60) })),
    h("dl", { class: "facts" }, ...facts([
      [t("Kind"), MEDIUM[row.medium] ?? row.medium],
      [t("Last received"), heard],
      [t("Packets"), t("{received} received, {fresh} of them new; {sent} sent", { received: number.format(row.received), fresh: number.format(row.new), sent: number.format(row.sent) })],
      [t("Waiting"), tn(row.queued + row.outstanding, "{n} packet", "{n} packets")],
    ])),
  );
}

function neighbour(row) {
  const signal = [
    row.snr_db === null ? null : `SNR ${decimal(row.snr_db, 1)} dB`,
    row.rssi_dbm === null ? null : `RSSI ${row.rssi_dbm} dBm`,
  ].filter(Boolean).join(", ");
  return h(
    "li",
    { class: "card" },
    h("h3", { text: row.name ? t("Node {name}", { name: row.name }) : t("Boards and phones") }),
    h("dl", { class: "facts" }, ...facts([
      [t("Last request"), agoOf(row.heard_us)],
      [t("Signal"), signal || t("not known")],
      [t("By"), h("bdi", { text: line(row.face, 60) })],
    ])),
  );
}

function subject(page) {
  const text = page.lines.map(visible).join("\n");
  return [h("h2", { text: line(page.title) }), h("pre", { class: "card lines", tabindex: "0", "aria-label": line(page.title), text })];
}

function room(one) {
  const of = one.network === "default" ? "" : ` (${one.network})`;
  return [[`${t("Disk")}${of}`, line(one.use, 200)], [`${t("Biggest others")}${of}`, line(one.biggest || t("none"), 300)]];
}

function alert(one) {
  const found = line(one.found, 500);
  return h("li", { class: "card alert" }, h("p", { text: `${found.slice(0, 1).toUpperCase()}${found.slice(1)}` }), h("p", { class: "soft", text: line(one.advice, 500) }));
}

function limit(one) {
  return h("li", { class: "card" }, h("h2", { text: t("A limit was reached") }), h("p", { text: `${line(one.what, 200)}. ${line(one.todo, 300)}` }));
}

function problem(one) {
  return h("li", { class: "card" }, h("h3", {}, h("bdi", { text: line(one.spec, 80) })), h("p", { class: "failed", text: line(one.problem, 300) }));
}

function band(row) {
  const share = row.limit_us ? (100 * row.used_us) / row.limit_us : 0;
  const text = t("{used} of {limit} used in the last {window} ({percent} %)", { used: duration(row.used_us), limit: duration(row.limit_us), window: duration(row.window_us), percent: share.toFixed(0) });
  const next = row.wait_us === null ? t("not while the disk is full") : row.wait_us === 0 ? t("now") : t("in {time}", { time: duration(row.wait_us) });
  const id = `band-${row.band.replace(/\W/g, "-")}`;
  return h(
    "li",
    { class: "card" },
    h("h3", { id, text: row.band }),
    h("meter", { min: "0", max: "100", value: String(share), high: "80", optimum: "0", "aria-labelledby": id, text: `${share.toFixed(0)} %` }),
    h("p", { text }),
    h("dl", { class: "facts" }, ...facts([
      [t("Left"), t("{left}; a full packet takes {time}", { left: duration(row.left_us), time: duration(row.full_us) })],
      [t("Next message"), next],
      [t("Sent by"), row.faces.length ? row.faces.map((face) => line(face, 40)).join(", ") : t("no link that is up")],
    ])),
  );
}
