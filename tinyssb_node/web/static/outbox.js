// Messages that were written while the node was away: they wait in this browser, and are sent when it is back.

import { ApiError, post } from "/static/api.js";
import { arrange, h, setText } from "/static/dom.js";
import { t } from "/static/language.js";
import { timeOf, visible } from "/static/words.js";

const KEY = "outbox";
const WAITING_MAX = 50; // of 4,000 characters: 0.4 MB of the 5 that a browser gives

class Outbox extends EventTarget {
  constructor() {
    super();
    this.sending = false;
    window.addEventListener("storage", (event) => { if (event.key === KEY) this.changed(); });
  }

  /** Returns the messages, the oldest first: `{key, request, written_ms, problem, costly}`. */
  get rows() {
    try {
      return JSON.parse(localStorage.getItem(KEY) ?? "[]");
    } catch {
      return []; // storage is switched off
    }
  }

  /** Puts a message behind the others. Returns false if there is no room: then it stays where it is. */
  add(key, request) {
    const { rows } = this;
    return rows.length < WAITING_MAX && this.store([...rows, { key, request, written_ms: Date.now(), problem: null, costly: false }]);
  }

  store(rows) {
    try {
      localStorage.setItem(KEY, JSON.stringify(rows));
    } catch {
      return false; // switched off, or full
    }
    this.changed();
    return true;
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  remove(once) {
    this.store(this.rows.filter((row) => row.request.once !== once));
  }

  update(once, change) {
    this.store(this.rows.map((row) => (row.request.once === once ? { ...row, ...change } : row)));
  }

  /** Sends a message that the node refused, or that was too costly, after all. */
  again(row) {
    this.update(row.request.once, { problem: null, costly: false, request: { ...row.request, agreed: row.costly || row.request.agreed } });
    this.flush();
  }

  /** Sends what waits, one after the other, until the node does not answer. The node publishes each `once`. */
  async flush() {
    if (this.sending) return;
    this.sending = true;
    try {
      for (const { request, problem } of this.rows) {
        if (problem !== null) continue;
        await post("/api/say", request);
        this.remove(request.once);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.failed(error);
    } finally {
      this.sending = false;
    }
  }

  /** Keeps a message that was refused, with the reason, so that its writer decides; others after it are sent. */
  failed(error) {
    if (["lost", "token", "busy"].includes(error.kind)) return;
    const first = this.rows.find((row) => row.problem === null);
    this.update(first.request.once, { problem: `${error.message} ${error.hint}`, costly: error.kind === "costly" });
    this.sending = false;
    this.flush();
  }
}

export const outbox = new Outbox();

/** The messages of one conversation that wait. */
export class Waiting {
  /** `source` has rows and tells of changes; those that are `fixed` are signed: the next ones follow them. */
  constructor(key, source = outbox) {
    this.key = key;
    this.source = source;
    this.items = new Map(); // once: element
    this.element = h("ol", { class: "outbox", "aria-label": t("Waiting on this device") });
    this.draw = this.draw.bind(this);
    source.addEventListener("change", this.draw);
    this.draw();
  }

  draw() {
    const rows = this.source.rows.filter((row) => row.key === this.key);
    const before = this.items;
    this.items = new Map(rows.map((row) => [row.request.once, before.get(row.request.once) ?? this.item(row)]));
    for (const row of rows) {
      const { status, again } = this.items.get(row.request.once);
      setText(status, row.problem === null ? t("Waits on this device, and is sent when the node is back.") : `${t("Not sent.")} ${visible(row.problem)}`);
      status.className = row.problem === null ? "soft" : "failed";
      again.hidden = row.problem === null || row.fixed === true;
      setText(again, row.costly ? t("Send anyway") : t("Try again"));
    }
    arrange(this.element, [...this.items.values()].map(({ element }) => element));
  }

  item({ request, written_ms, fixed }) {
    const status = h("span");
    const find = () => outbox.rows.find((row) => row.request.once === request.once);
    const again = h("button", { type: "button", class: "plain", onclick: () => outbox.again(find()) });
    const remove = h("button", { type: "button", class: "plain", text: t("Delete"), onclick: () => outbox.remove(request.once) });
    const element = h(
      "li",
      { class: "message own waits" },
      h("header", {}, h("span", { class: "who", text: t("You") }), h("time", { text: timeOf(written_ms * 1_000) })),
      h("p", { class: "text", dir: "auto", text: visible(request.text) }),
      h("footer", {}, status, again, !fixed && remove),
    );
    return { element, status, again };
  }

  close() {
    this.source.removeEventListener("change", this.draw);
  }
}
