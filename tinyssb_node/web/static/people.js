// The list of people.

import { ApiError, get, post } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { who } from "/static/message.js";
import { line, nameOf, timeOf } from "/static/words.js";

export class PeopleView {
  constructor() {
    this.about = h("p", { class: "soft", text: t("Loading…") });
    this.list = h("ul", { class: "cards" });
    this.input = h("input", { id: "feed", name: "feed", required: true, autocapitalize: "none", autocomplete: "off", spellcheck: "false", pattern: "[0-9a-fA-F]{64}", maxlength: "64", title: t("64 digits, from 0 to 9 and from a to f"), "aria-describedby": "follow-status" });
    this.status = h("p", { id: "follow-status", role: "status" });
    const form = h("form", { class: "card" }, h("h2", { text: t("Follow a feed") }), h("label", { for: "feed", text: t("Feed id, 64 digits") }), this.input, this.status, h("button", { class: "button quiet", text: t("Follow") }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.follow();
    });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("People") }), this.about, this.list, form);
  }

  async refresh() {
    try {
      const found = await get("/api/people");
      setText(this.about, tn(found.all, "The node knows {n} feed. Anyone can take any name; the digits are unique.", "The node knows {n} feeds. Anyone can take any name; the digits are unique."));
      const drawn = JSON.stringify(found.rows);
      if (drawn !== this.drawn) this.list.replaceChildren(...found.rows.map((row) => person(row, () => this.unfollow(row))));
      this.drawn = drawn;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!this.drawn) setText(this.about, `${error.message} ${error.hint}`);
    }
  }

  async follow() {
    try {
      const found = await post("/api/follow", { feed: this.input.value.trim().toLowerCase() });
      this.status.className = "";
      const followed = found.changed ? t("Followed. Its entries are requested from other nodes.") : t("The node follows this feed already.");
      setText(this.status, found.pending ? `${t("Nobody here knows this id, so check its digits.")} ${PENDING}` : followed);
      this.input.value = "";
      this.refresh();
    } catch (error) {
      this.failed(error);
    }
  }

  async unfollow(row) {
    try {
      await post("/api/unfollow", { feed: row.feed });
      this.status.className = "";
      setText(this.status, t("The node no longer follows {feed}.", { feed: row.feed.slice(0, 8) }));
      await this.refresh();
      this.status.scrollIntoView({ block: "nearest" });
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    if (!(error instanceof ApiError)) throw error;
    this.status.className = "failed";
    setText(this.status, `${error.message} ${error.hint}`);
  }
}

const PENDING = t("Pending: nobody near has it yet; only this node asks for it, and it takes nobody's place in the set.");

function person(row, undo) {
  if (row.pending) return pending(row, undo);
  const held = row.entries ? tn(row.entries, "{n} entry, the last arrived {time}.", "{n} entries, the last arrived {time}.", { time: timeOf(row.last_us) }) : t("No entries yet.");
  const facts = [row.own ? t("This node.") : null, row.blocked ? t("Blocked.") : null, held];
  const says = !row.own && row.said && row.said !== row.name ? h("p", { class: "soft" }, ...parts(t("Alias: {name}"), { name: h("bdi", { text: line(row.said, 40) }) })) : null;
  return h(
    "li",
    { class: "card person" },
    h("div", {}, h("p", {}, who(row)), says, h("p", { class: "soft", text: facts.filter(Boolean).join(" ") }), h("details", {}, h("summary", { text: t("Feed id") }), h("code", { text: row.feed }))),
    row.own || row.blocked ? null : h("a", { class: "button quiet", href: `/with/${row.feed}`, "data-page": true }, t("Write"), h("span", { class: "unseen" }, ...parts(` ${t("to {name}")}`, { name: h("bdi", { text: nameOf(row) }) }))),
  );
}

function pending(row, undo) {
  const button = h("button", { class: "button quiet", type: "button" }, t("Undo"), h("span", { class: "unseen" }, ...parts(` ${t("following {name}")}`, { name: h("bdi", { text: nameOf(row) }) })));
  button.addEventListener("click", undo);
  return h(
    "li",
    { class: "card person" },
    h("div", {}, h("p", {}, who(row)), h("p", { class: "soft", text: PENDING }), h("details", {}, h("summary", { text: t("Feed id") }), h("code", { text: row.feed }))),
    button,
  );
}
