// The list of people: write to them, name, follow and block them; and the user's own name.

import { ApiError, get, newId, post } from "/static/api.js";
import { arrange, h, setText } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { who } from "/static/message.js";
import { line, nameOf, timeOf } from "/static/words.js";

const PETNAME_MAX = 64;
const ALIAS_MAX = 40;
const PENDING = t("Pending: nobody near has it yet; only this node asks for it, and it takes nobody's place in the set.");

export class PeopleView {
  constructor() {
    this.about = h("p", { class: "soft", text: t("Loading…") });
    this.done = h("p", { role: "status" });
    this.cards = new Map(); // feed: PersonCard
    this.list = h("ul", { class: "cards" });
    this.input = h("input", { id: "feed", name: "feed", required: true, autocapitalize: "none", autocomplete: "off", spellcheck: "false", pattern: "[0-9a-fA-F]{64}", maxlength: "64", title: t("64 digits, from 0 to 9 and from a to f"), "aria-describedby": "follow-status" });
    this.status = h("p", { id: "follow-status", role: "status" });
    const form = h("form", { class: "card" }, h("h2", { text: t("Follow a feed") }), h("label", { for: "feed", text: t("Feed id, 64 digits") }), this.input, this.status, h("button", { class: "button quiet", text: t("Follow") }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.follow();
    });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("People") }), this.about, this.done, this.list, form);
  }

  async refresh() {
    try {
      const found = await get("/api/people");
      setText(this.about, tn(found.all, "The node knows {n} feed. Anyone can take any name; the digits are unique.", "The node knows {n} feeds. Anyone can take any name; the digits are unique."));
      const before = this.cards;
      this.cards = new Map(found.rows.map((row) => [row.feed, before.get(row.feed) ?? new PersonCard(this)]));
      for (const row of found.rows) this.cards.get(row.feed).update(row);
      arrange(this.list, [...this.cards.values()].map(({ element }) => element));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!this.cards.size) setText(this.about, `${error.message} ${error.hint}`);
    }
  }

  async follow() {
    await this.attempt(this.status, async () => {
      const found = await post("/api/follow", { feed: this.input.value.trim().toLowerCase() });
      this.input.value = "";
      if (found.pending) return `${t("Nobody here knows this id, so check its digits.")} ${PENDING}`;
      return found.changed ? t("Followed. Its entries are requested from other nodes.") : t("The node follows this feed already.");
    });
  }

  /** Does `work`, shows what it returns above the list, where it stays when a card goes to another place. */
  change(work) {
    return this.attempt(this.done, work);
  }

  async attempt(status, work) {
    status.className = "";
    setText(status, "");
    try {
      setText(status, await work());
      await this.refresh();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      status.className = "failed";
      setText(status, `${error.message} ${error.hint}`);
    }
    status.scrollIntoView({ block: "nearest" });
  }
}

/** A person of the list. Its form stays while others change. */
class PersonCard {
  constructor(view) {
    this.view = view;
    this.element = h("li", { class: "card person" });
    this.more = null; // the part that opens
  }

  update(row) {
    const drawn = JSON.stringify(row);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.row = row;
    if (!this.more || this.more.kind !== kindOf(row)) this.more = { kind: kindOf(row), element: row.own ? this.own() : row.pending ? null : this.others() };
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    this.element.replaceChildren(...[this.facts(), this.button(), this.more.element].filter(Boolean));
    if (focused?.isConnected) focused.focus();
  }

  facts() {
    const { row } = this;
    const held = row.entries ? tn(row.entries, "{n} entry, the last arrived {time}.", "{n} entries, the last arrived {time}.", { time: timeOf(row.last_us) }) : t("No entries yet.");
    const by = row.blocked_by.length ? t("Blocked by the list of {people}.", { people: row.blocked_by.map(nameOf).join(", ") }) : t("Blocked.");
    const state = row.own ? t("This node.") : row.blocked ? by : row.wanted ? null : t("Not followed.");
    const facts = row.pending ? [PENDING] : [state, held];
    const says = !row.own && row.said && row.said !== row.name ? h("p", { class: "soft" }, ...parts(t("Alias: {name}"), { name: h("bdi", { text: line(row.said, 40) }) })) : null;
    return h("div", {}, h("p", {}, who(row)), says, h("p", { class: "soft", text: facts.filter(Boolean).join(" ") }), h("details", {}, h("summary", { text: t("Feed id") }), h("code", { text: row.feed })));
  }

  button() {
    const { row } = this;
    if (row.pending) {
      return h("button", { class: "button quiet", type: "button", onclick: () => this.unfollow() }, t("Undo"), h("span", { class: "unseen" }, ...parts(` ${t("following {name}")}`, { name: h("bdi", { text: nameOf(row) }) })));
    }
    if (row.own || row.blocked) return null;
    return h("a", { class: "button quiet", href: `/with/${row.feed}`, "data-page": true }, t("Write"), h("span", { class: "unseen" }, ...parts(` ${t("to {name}")}`, { name: h("bdi", { text: nameOf(row) }) })));
  }

  /** Returns the form for the user's own name. */
  own() {
    const { row } = this;
    const id = `alias-${row.feed}`;
    const input = h("input", { id, name: "alias", required: true, maxlength: String(ALIAS_MAX), autocomplete: "nickname", value: row.said ?? "" });
    const form = h("form", {}, h("label", { for: id, text: t("Name; everyone in the mesh can read it") }), input, h("p", { class: "soft", text: t("It becomes an entry of your feed, for good. You can publish another name later.") }), h("div", {}, h("button", { class: "button quiet", text: t("Publish it") })));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.view.change(async () => {
        await post("/api/alias", { name: input.value.trim(), once: newId() });
        return t("Your name is published.");
      });
    });
    return h("details", { class: "wide" }, h("summary", { text: t("Your name") }), form);
  }

  /** Returns the form for the name of another person, and the buttons to follow and to block them. */
  others() {
    const { row } = this;
    const id = `name-${row.feed}`;
    const input = h("input", { id, name: "name", maxlength: String(PETNAME_MAX), autocomplete: "off", value: row.given ?? "" });
    const form = h("form", {}, h("label", { for: id, text: t("Your name for this person; only you see it") }), input, h("div", {}, h("button", { class: "button quiet", text: t("Save the name") })));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.view.change(async () => {
        const { name } = await post("/api/person/name", { feed: row.feed, name: input.value.trim() });
        return name ? t("The name is saved.") : t("The name is removed.");
      });
    });
    const words = row.blocked ? t("If you unblock them, their messages are shown again, and their feed is requested.") : t("If you block them, their messages are hidden here, and this node no longer requests their feed. They do not learn of it.");
    const block = h("button", { type: "button", class: "button quiet", text: row.blocked ? t("Unblock") : t("Block"), onclick: () => this.block(!row.blocked) });
    return h("details", { class: "wide" }, h("summary", { text: row.blocked ? t("Name, and unblock") : t("Name, follow, and block") }), form, ...(row.blocked ? [] : this.following()), h("p", { class: "soft", text: words }), h("div", {}, block));
  }

  following() {
    const { row } = this;
    const words = row.wanted ? t("This node requests their entries. If it no longer does, what it has stays as long as there is room.") : t("This node does not request their entries.");
    const button = h("button", { type: "button", class: "button quiet", text: row.wanted ? t("Stop following") : t("Follow"), onclick: () => (row.wanted ? this.unfollow() : this.follow()) });
    return [h("p", { class: "soft", text: words }), h("div", {}, button)];
  }

  block(blocked) {
    const { feed } = this.row;
    this.view.change(async () => {
      await post("/api/person/block", { feed, blocked });
      return blocked ? t("{feed} is blocked.", { feed: feed.slice(0, 8) }) : t("{feed} is no longer blocked.", { feed: feed.slice(0, 8) });
    });
  }

  follow() {
    const { feed } = this.row;
    this.view.change(async () => {
      await post("/api/follow", { feed });
      return t("Followed. Its entries are requested from other nodes.");
    });
  }

  unfollow() {
    const { feed } = this.row;
    this.view.change(async () => {
      await post("/api/unfollow", { feed });
      return t("The node no longer follows {feed}.", { feed: feed.slice(0, 8) });
    });
  }
}

/** Returns what the part of a card that opens depends on. */
const kindOf = (row) => (row.own ? "own" : row.pending ? "pending" : row.blocked ? "blocked" : row.wanted ? "followed" : "person");
