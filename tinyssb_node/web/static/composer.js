// The box to write in. Its text stays, also after a reload, until the node has confirmed that the message is on its disk.

import { ApiError, newId, post } from "/static/api.js";
import { Attachment } from "/static/attachment.js";
import { announce, h, setText } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { named } from "/static/message.js";
import { outbox, Waiting } from "/static/outbox.js";
import { person } from "/static/person.js";
import { Recording } from "/static/recording.js";
import { costOf, number, summaryOf } from "/static/words.js";

const TEXT_MAX = 4_000;
const PAUSE_MS = 600; // without typing, before the cost of the message is requested
const ROWS_MAX = 8; // where the browser does not let the box grow by itself
const grows = CSS.supports("field-sizing", "content");
const touch = window.matchMedia("(pointer: coarse)");

export class Composer {
  /** `key` names the draft; `sent(answer)` is called when it was published. Set `target` to the server's parameters. */
  constructor({ key, sent }) {
    this.key = `draft ${key}`;
    this.place = String(key);
    this.waiting = new Waiting(this.place, person.guest ? person : outbox);
    this.onSent = sent;
    this.target = null;
    this.replyTo = null;
    this.usually = null;
    this.once = null;
    this.sending = false;
    this.long = false;
    this.answeringText = h("span");
    this.cancel = h("button", { type: "button", class: "plain", text: t("Cancel answer"), onclick: () => this.answer(null) });
    this.answering = h("div", { class: "answering", hidden: true }, this.answeringText, this.cancel);
    this.box = h("textarea", { id: "say", name: "say", rows: "1", dir: "auto", placeholder: t("Write a message"), "aria-describedby": "cost send-status", enterkeyhint: touch.matches ? "enter" : "send" });
    this.cost = h("span", { id: "cost" });
    this.status = h("span", { id: "send-status", role: "alert" });
    this.button = h("button", { class: "send", text: t("Send") });
    this.askedText = h("span");
    this.asked = h("div", { class: "asked", role: "alert", hidden: true }, this.askedText, h("span", { class: "buttons" }, h("button", { type: "button", class: "button", text: t("Send anyway"), onclick: () => this.send(true) }), h("button", { type: "button", class: "button quiet", text: t("Not now"), onclick: () => this.ask(null) })));
    this.attachment = new Attachment({
      replyTo: () => this.replyTo,
      sent: (answer) => {
        this.answer(null);
        this.onSent(answer);
      },
    });
    this.recording = new Recording({
      target: () => ({ ...this.target, reply_to: this.replyTo }),
      sent: (answer) => {
        this.answer(null);
        this.onSent(answer);
      },
    });
    this.element = h(
      "form",
      { class: "composer", "aria-label": t("Write") },
      this.answering,
      h("div", { class: "box" }, h("label", { class: "unseen", for: "say", text: t("Message") }), this.box, this.attachment.input, this.attachment.pick, this.recording.pick, this.button),
      this.attachment.panel,
      this.recording.panel,
      this.asked,
      h("p", { class: "under" }, this.cost, this.status),
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
    this.replyTo = row?.id ?? this.usually?.id ?? null;
    this.once = null;
    this.showAnswered(row ?? this.usually);
    this.updateCostSoon();
    this.box.focus();
  }

  /** Shows whom and what the message answers; null: nothing. The usual answer cannot be cancelled. */
  showAnswered(row) {
    this.answering.hidden = !row;
    this.cancel.hidden = row?.id === this.usually?.id;
    this.answeringText.replaceChildren(...(row ? parts(t("Answering {author}: {message}"), { author: named(row.author), message: h("bdi", { text: row.text ? summaryOf(row, 60) : row.kind }) }) : []));
  }

  /** Sets the message that is answered unless another one is chosen. */
  usual(row) {
    if (this.usually?.id === row.id) return;
    this.usually = row;
    if (this.replyTo) return;
    this.replyTo = row.id;
    this.showAnswered(row);
  }

  /** Shows by how much the text is too long: nothing of it is cut. Returns whether it is. */
  tooLong() {
    const text = this.box.value.trim();
    const size = text.length > TEXT_MAX ? [...text].length : 0;
    const long = size > TEXT_MAX;
    if (long) this.fail(tn(size, "The message has {n} character, and {most} can be sent. Nothing of it was cut: send it in parts.", "The message has {n} characters, and {most} can be sent. Nothing of it was cut: send it in parts.", { most: number.format(TEXT_MAX) }));
    else if (this.long) setText(this.status, "");
    this.long = long;
    return long;
  }

  changed() {
    this.once = null; // another text is another message
    this.tooLong();
    this.ask(null);
    this.keep();
    this.fit();
    this.updateCostSoon();
  }

  fit() {
    if (!grows) this.box.rows = Math.min(ROWS_MAX, this.box.value.split("\n").reduce((rows, each) => rows + 1 + Math.floor(each.length / 45), 0));
  }

  updateCostSoon() {
    clearTimeout(this.pause);
    if (this.box.value.trim()) this.pause = setTimeout(() => this.updateCost(), PAUSE_MS);
    else setText(this.cost, "");
  }

  async updateCost() {
    const text = this.box.value.trim();
    if (!text || !this.target || !this.element.isConnected || this.long || person.guest) return;
    try {
      const found = await post("/api/cost", { ...this.target, text, reply_to: this.replyTo, once: "only-asking" });
      if (this.box.value.trim() === text) setText(this.cost, costOf(found));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.cost, ""); // unknown without the node
    }
  }

  /** Shows what a big message costs, and asks; null: asks no longer. */
  ask(cost) {
    this.asked.hidden = cost === null;
    setText(this.askedText, cost ?? "");
  }

  async send(agreed = false) {
    const text = this.box.value.trim();
    if (!text || this.sending || !this.target) {
      if (!this.target && text) this.fail(t("This conversation has not been loaded yet."));
      return;
    }
    if (this.tooLong()) return;
    if (person.guest) {
      await this.sign(text);
      return;
    }
    this.busy(true);
    this.ask(null);
    this.once ??= newId();
    const request = { ...this.target, text, reply_to: this.replyTo, once: this.once, agreed };
    try {
      const answer = await post("/api/say", request);
      this.done();
      announce(tn(answer.packets, "Sent: {n} packet.", "Sent: {n} packets."));
      this.onSent(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.kind === "costly") this.ask(error.message);
      else if (error.kind === "lost" && outbox.add(this.place, request)) this.queued();
      else this.fail(`${error.message} ${error.hint}`);
    } finally {
      this.busy(false);
    }
  }

  /** Signs the message as this phone's person, and sends it, or lets it wait. */
  async sign(text) {
    this.busy(true);
    try {
      const { packets, waits } = await person.publish(text, this.replyTo, this.target.to?.[0]);
      this.done();
      announce(waits ? t("Signed. The message waits on this device.") : tn(packets, "Sent: {n} packet.", "Sent: {n} packets."));
      this.onSent({});
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
    setText(this.button, sending ? t("Sending…") : t("Send"));
  }

  /** Empties the box: its message waits in this browser. */
  queued() {
    this.done();
    announce(t("The node is away. The message waits on this device."));
    this.waiting.element.lastElementChild.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.waiting.close();
    this.recording.clear();
  }

  done() {
    this.once = null;
    this.box.value = "";
    this.replyTo = this.usually?.id ?? null;
    this.showAnswered(this.usually);
    setText(this.status, "");
    this.status.className = "";
    this.keep();
    this.fit();
    this.updateCostSoon();
  }

  fail(text) {
    this.status.className = "failed";
    setText(this.status, t("Not sent. {reason} Your message is still in the box.", { reason: text }));
  }

  keep() {
    try {
      if (this.box.value) sessionStorage.setItem(this.key, this.box.value);
      else sessionStorage.removeItem(this.key);
    } catch {
      // storage is switched off or full: the box itself still has the text
    }
  }

  restore() {
    try {
      this.box.value = sessionStorage.getItem(this.key) ?? "";
    } catch {
      // as above
    }
    this.fit();
    this.updateCostSoon();
  }
}
