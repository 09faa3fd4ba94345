// A message with what it answers and all answers, each below the message that it answers.

import { ApiError, get } from "/static/api.js";
import { titleOf } from "/static/chat.js";
import { Composer } from "/static/composer.js";
import { arrange, h, setParts, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { Message } from "/static/message.js";
import { person } from "/static/person.js";

const DEEP_MAX = 3; // a phone has no room for more

export class ThreadView {
  /** Opens the thread of a message of a conversation or a private group. */
  constructor({ conversation, id }) {
    this.conversation = conversation;
    this.inGroup = conversation.length === id.length;
    this.id = id;
    this.rows = new Map(); // id: Message
    this.title = h("h1", { tabindex: "-1", text: t("Thread") });
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.notes = h("ul", { class: "notes" });
    this.list = h("ol", { class: "thread", "aria-label": t("Thread") });
    this.composer = new Composer({ key: `thread ${id}`, sent: () => this.refresh() });
    this.composer.box.placeholder = t("Write an answer");
    const all = conversation === "public" ? t("All public messages") : this.inGroup ? t("All messages of this group") : t("All messages of this conversation");
    this.element = h(
      "div",
      { class: "chat" },
      h(
        "section",
        { class: "conversation" },
        h("header", {}, this.title, this.about, h("a", { href: `/c/${conversation}`, class: "plain", "data-page": true, text: all })),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Thread") }, this.notes, this.list, this.composer.waiting.element),
        this.composer.element,
      ),
    );
  }

  async refresh() {
    let found;
    try {
      found = await get("/api/thread", { conversation: this.conversation, id: this.id });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.composer.element.hidden = !this.rows.size;
      setText(this.about, `${error.message} ${error.hint}`);
      return;
    }
    const answers = found.rows.filter((row) => row.depth && !row.remark).length;
    setParts(this.about, [...titleOf(found), ", ", tn(answers, "{n} answer", "{n} answers")]);
    this.notes.replaceChildren(...found.notes.map((text) => h("li", { text })));
    const first = !this.rows.size;
    this.show(found.rows);
    this.composer.target = { conversation: this.conversation };
    this.composer.attachment.offer(this.inGroup && !found.note ? this.conversation : null, this.inGroup);
    this.composer.recording.offer(!this.inGroup && !person.guest);
    const placed = found.rows.filter((row) => row.placed !== null);
    this.composer.element.hidden = !placed.length || Boolean(found.note) || (person.guest && !person.canWrite);
    // What is written here answers the message that was opened, unless another one is chosen.
    if (placed.length) this.composer.usual(placed.find((row) => row.id === this.id) ?? placed[0]);
    if (first) this.rows.get(this.id)?.element.scrollIntoView({ block: "center" });
  }

  show(rows) {
    for (const row of rows) {
      const known = this.rows.get(row.id);
      if (known) known.update(row);
      else this.rows.set(row.id, new Message(row, this));
    }
    arrange(this.list, rows.map((row) => this.rows.get(row.id).element));
    for (const { id, held, depth } of rows) {
      const { element } = this.rows.get(id);
      this.rows.get(id).showHolders(held ?? "");
      element.classList.toggle(`deep-${Math.min(depth, DEEP_MAX)}`, depth > 0);
      element.classList.toggle("shown", id === this.id && rows.length > 1);
      if (id === this.id) element.setAttribute("aria-current", "true");
    }
  }

  /** Brings the message into view that another one answers. */
  reveal(id) {
    const { element } = this.rows.get(id);
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
  }

  answer(row) {
    this.composer.answer(row);
  }

  close() {
    this.composer.close();
    this.closed = true;
  }
}
