// The choice of people for a private conversation.

import { ApiError, get } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { who } from "/static/message.js";

const PEOPLE_MAX = 6; // beside the user

export class CircleView {
  constructor() {
    this.picks = h("div", { class: "picks" }, h("p", { class: "soft", text: t("Loading…") }));
    this.status = h("p", { role: "status" });
    const form = h("form", { class: "card" }, h("fieldset", {}, h("legend", { class: "soft", text: t("People") }), this.picks), h("div", {}, h("button", { class: "button", text: t("Write") })), this.status);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.open();
    });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("Write privately") }), h("p", { class: "soft", text: tn(PEOPLE_MAX, "Choose up to {n} person. Only they and you can read the conversation. Nobody can be added or excluded later; a group allows that.", "Choose up to {n} people. Only they and you can read the conversation. Nobody can be added or excluded later; a group allows that.") }), form);
  }

  /** Offers the people that the node knows, once: what is being chosen stays. */
  async refresh() {
    if (this.offered) return;
    try {
      const { rows } = await get("/api/people");
      const people = rows.filter((one) => !one.own && !one.blocked && !one.pending);
      this.picks.replaceChildren(...people.map((author) => h("label", { class: "pick" }, h("input", { type: "checkbox", value: author.feed }), who(author))));
      if (!people.length) this.picks.replaceChildren(h("p", { class: "soft", text: t("There is nobody to choose.") }));
      this.offered = true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.fail(`${error.message} ${error.hint}`);
    }
  }

  open() {
    const feeds = [...this.picks.querySelectorAll("input:checked")].map((one) => one.value);
    if (!feeds.length) this.fail(t("Choose people first."));
    else if (feeds.length > PEOPLE_MAX) this.fail(tn(PEOPLE_MAX, "Choose at most {n} person, or make a group.", "Choose at most {n} people, or make a group."));
    else this.go?.(`/with/${feeds.join(",")}`);
  }

  fail(text) {
    this.status.className = "failed";
    setText(this.status, text);
  }
}
