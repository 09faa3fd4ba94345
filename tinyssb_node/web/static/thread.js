// A message of a private group with all answers, each below the message that it answers.

import { ApiError, get } from "/static/api.js";
import { Composer } from "/static/composer.js";
import { announce, arrange, h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { Message } from "/static/message.js";
import { line } from "/static/words.js";

const DEEP_MAX = 3; // a phone has no room for more

export class ThreadView {
  constructor({ group, id }) {
    this.group = group;
    this.id = id;
    this.rows = new Map(); // id: Message
    this.title = h("h1", { tabindex: "-1", text: t("Thread") });
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.list = h("ol", { "aria-label": t("Thread") });
    this.composer = new Composer({ key: `thread ${id}`, sent: () => this.refresh() });
    this.composer.box.placeholder = t("Write an answer");
    this.element = h(
      "div",
      { class: "chat" },
      h(
        "section",
        { class: "conversation" },
        h("header", {}, this.title, this.about, h("a", { href: `/c/${group}`, class: "plain", "data-page": true, text: t("All messages of this group") })),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Thread") }, this.list, this.composer.waiting.element),
        this.composer.element,
      ),
    );
  }

  async refresh() {
    let found;
    try {
      found = await get("/api/group/thread", { group: this.group, id: this.id });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, `${error.message} ${error.hint}`);
      return;
    }
    setText(this.about, `${line(found.title)}, ${tn(found.rows.length - 1, "{n} answer", "{n} answers")}`);
    for (const row of found.rows) {
      const known = this.rows.get(row.id);
      if (known) known.update(row);
      else this.rows.set(row.id, new Message(row, this));
    }
    arrange(this.list, found.rows.map((row) => this.rows.get(row.id).element));
    for (const row of found.rows) this.rows.get(row.id).showHolders(row.held ?? "");
    for (const row of found.rows) this.rows.get(row.id).element.classList.toggle(`deep-${Math.min(row.depth, DEEP_MAX)}`, row.depth > 0);
    this.composer.target = { conversation: this.group };
    this.composer.attachment.offer(found.note ? null : this.group);
    // What is written here answers the first message, unless another one is chosen.
    this.composer.usual(found.rows[0]);
  }

  answer(row) {
    this.composer.answer(row);
  }

  reveal() {
    announce(t("The message that it answers is above it."));
  }

  close() {
    this.composer.close();
    this.closed = true;
  }
}
