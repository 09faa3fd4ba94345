// The box to write in. What is in it stays there until the node has said that it is on its disk, reloads included.

import { ApiError, post } from "/static/api.js";
import { announce, h, setText } from "/static/dom.js";
import { named } from "/static/message.js";
import { count, duration, saidLine } from "/static/words.js";

const TEXT_MAX = 4_000;
const PAUSE_MS = 600; // of typing, before it is asked what the message would cost
const ROWS_MAX = 8; // where the browser does not let the box grow by itself
const grows = CSS.supports("field-sizing", "content");
const touch = window.matchMedia("(pointer: coarse)");

export class Composer {
  /** `key` names the draft; `sent(answer)` is told once it is said. Set `target` to what the server takes. */
  constructor({ key, sent }) {
    this.key = `draft ${key}`;
    this.onSent = sent;
    this.target = null;
    this.replyTo = null;
    this.once = null;
    this.sending = false;
    this.answeringText = h("span");
    this.answering = h("div", { class: "answering", hidden: true }, this.answeringText, h("button", { type: "button", class: "plain", text: "Do not answer", onclick: () => this.answer(null) }));
    this.box = h("textarea", { id: "say", name: "say", rows: "1", maxlength: String(TEXT_MAX), dir: "auto", placeholder: "Write a message", "aria-describedby": "cost said", enterkeyhint: touch.matches ? "enter" : "send" });
    this.cost = h("span", { id: "cost" });
    this.said = h("span", { id: "said", role: "alert" });
    this.button = h("button", { class: "send", text: "Send" });
    this.element = h(
      "form",
      { class: "composer", "aria-label": "Write" },
      this.answering,
      h("div", { class: "box" }, h("label", { class: "unseen", for: "say", text: "Message" }), this.box, this.button),
      h("p", { class: "under" }, this.cost, this.said),
    );
    this.box.addEventListener("input", () => this.changed());
    this.box.addEventListener("keydown", (event) => this.key_(event));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.restore();
  }

  key_(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !touch.matches) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.replyTo) this.answer(null);
  }

  answer(row) {
    this.replyTo = row?.id ?? null;
    this.once = null;
    this.answering.hidden = !row;
    this.answeringText.replaceChildren(...(row ? ["Answering ", ...named(row.author), ": ", h("bdi", { text: row.text ? saidLine(row, 60) : row.kind })] : []));
    this.askCostSoon();
    this.box.focus();
  }

  changed() {
    this.once = null; // another text is another message
    this.keep();
    this.fit();
    this.askCostSoon();
  }

  fit() {
    if (!grows) this.box.rows = Math.min(ROWS_MAX, this.box.value.split("\n").reduce((rows, each) => rows + 1 + Math.floor(each.length / 45), 0));
  }

  askCostSoon() {
    clearTimeout(this.pause);
    if (this.box.value.trim()) this.pause = setTimeout(() => this.askCost(), PAUSE_MS);
    else setText(this.cost, "");
  }

  async askCost() {
    const text = this.box.value.trim();
    if (!text || !this.target || !this.element.isConnected) return;
    try {
      const found = await post("/api/cost", { ...this.target, text, reply_to: this.replyTo, once: "only-asking" });
      if (this.box.value.trim() === text) setText(this.cost, costOf(found));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.cost, ""); // without the node nobody knows
    }
  }

  async send() {
    const text = this.box.value.trim();
    if (!text || this.sending || !this.target) {
      if (!this.target && text) this.fail("This conversation has not been loaded yet.");
      return;
    }
    this.busy(true);
    this.once ??= crypto.getRandomValues(new Uint32Array(4)).join("-");
    try {
      const answer = await post("/api/say", { ...this.target, text, reply_to: this.replyTo, once: this.once });
      this.done(text, answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.fail(`${error.message} ${error.hint}`);
    } finally {
      this.busy(false);
    }
  }

  busy(sending) {
    this.sending = sending;
    this.button.setAttribute("aria-disabled", String(sending));
    this.box.readOnly = sending;
    setText(this.button, sending ? "Sending…" : "Send");
  }

  done(text, answer) {
    this.once = null;
    this.box.value = "";
    this.replyTo = null;
    this.answering.hidden = true;
    setText(this.said, "");
    this.said.className = "";
    this.keep();
    this.fit();
    this.askCostSoon();
    announce(`Sent: ${count(answer.packets, "packet")}.`);
    this.onSent(answer);
  }

  fail(text) {
    this.said.className = "failed";
    setText(this.said, `Not sent. ${text} Your message is still in the box.`);
  }

  keep() {
    try {
      if (this.box.value) sessionStorage.setItem(this.key, this.box.value);
      else sessionStorage.removeItem(this.key);
    } catch {
      // storage is switched off or full: the box itself still has it
    }
  }

  restore() {
    try {
      this.box.value = sessionStorage.getItem(this.key) ?? "";
    } catch {
      // as above
    }
    this.fit();
    this.askCostSoon();
  }
}

/** What a message would cost, in words. */
function costOf({ packets, costs }) {
  const words = costs.map(({ air_us: airUs, share, wait_us: waitUs }) => {
    const part = share === null ? "" : `, ${(100 * share).toFixed(share < 0.1 ? 1 : 0)} % of the airtime allowed`;
    const wait = waitUs ? `, gone within ${duration(waitUs)}` : "";
    return `${duration(airUs)} of air${part}${wait}`;
  });
  return [count(packets, "packet"), ...(words.length ? words : ["no radio is up"])].join(" · ");
}
