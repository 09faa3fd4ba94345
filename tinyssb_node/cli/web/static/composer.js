// The box to write in. What is in it stays there until the node has said that it is on its disk, reloads included.

import { ApiError, post } from "/static/api.js";
import { announce, h, setText } from "/static/dom.js";
import { count, line, nameOf } from "/static/words.js";

const TEXT_MAX = 4_000;
const INLINE_BYTES = 28;
const CHUNK_BYTES = 100;
const AROUND_BYTES = 40; // of a message besides its text: its kind, what it follows, the time
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
    this.answeringText.replaceChildren(...(row ? ["Answering ", h("bdi", { text: nameOf(row.author) }), ": ", h("bdi", { text: row.text ? line(row.text, 60) : row.kind })] : []));
    this.box.focus();
  }

  changed() {
    this.once = null; // another text is another message
    this.keep();
    this.drawCost();
  }

  drawCost() {
    const bytes = new TextEncoder().encode(this.box.value.trim()).length;
    const whole = bytes + AROUND_BYTES;
    const packets = whole <= INLINE_BYTES ? 1 : 1 + Math.ceil((whole - INLINE_BYTES) / CHUNK_BYTES);
    const left = TEXT_MAX - this.box.value.length;
    const room = left < 200 ? `, room for ${count(left, "character")} more` : "";
    setText(this.cost, bytes ? `About ${count(packets, "packet")}${room}` : "");
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
    this.drawCost();
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
    this.drawCost();
  }
}
