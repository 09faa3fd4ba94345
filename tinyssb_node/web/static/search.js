// Search for words in all messages that the node can read, those of private groups, too.

import { ApiError, post } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { Message } from "/static/message.js";
import { line } from "/static/words.js";

export class SearchView {
  constructor() {
    this.box = h("input", { id: "words", name: "words", type: "search", maxlength: "200", required: true, autocomplete: "off", enterkeyhint: "search" });
    this.status = h("p", { class: "soft", role: "status" });
    this.list = h("ol", { class: "cards", "aria-label": t("Messages found") });
    const form = h("form", { class: "card", role: "search" }, h("label", { for: "words", text: t("Words, or their beginnings; all must occur") }), this.box, h("div", {}, h("button", { class: "button", text: t("Search") })));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.search();
    });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("Search") }), form, this.status, this.list);
  }

  refresh() {
    // What was found stays until somebody searches again.
  }

  async search() {
    try {
      const { rows, groups } = await post("/api/search", { words: this.box.value });
      this.list.replaceChildren(...rows.map((row) => this.found(row)));
      const left = groups ? "" : ` ${t("Private groups were not searched: the node’s daemon has their keys, and does not answer.")}`;
      setText(this.status, `${rows.length ? tn(rows.length, "{n} message found.", "{n} messages found.") : t("No message has all these words.")}${left}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.status, `${error.message} ${error.hint}`);
    }
  }

  found(row) {
    const message = new Message(row, this).element;
    message.querySelector("footer").replaceChildren(h("a", { class: "plain", href: row.where, "data-page": true, text: line(row.title, 40) }));
    return message;
  }
}
