// Boards: lists of cards that everybody in the mesh can read and change.

import { ApiError, get, newId, post } from "/static/api.js";
import { arrange, h, setText } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { named, who } from "/static/message.js";
import { line, nameOf, timeOf, visible } from "/static/words.js";

const NAME_MAX = 200;
const TEXT_MAX = 4_000;

/** Shows in `status` what `work` returns, or why it failed. Returns whether it did not. */
async function attempt(status, work) {
  status.className = "";
  setText(status, "");
  try {
    setText(status, await work());
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    status.className = "failed";
    setText(status, `${error.message} ${error.hint}`);
    return false;
  }
}

/** A form with one text. Its text stays until it was sent, and can be changed only then. */
class TextForm {
  /** `send(text, agreed, once)` sends it, and throws ApiError. `keeps`: the form shows the text as it is now; `long`: it may have several lines. */
  constructor({ label, yes, send, keeps = false, long = false }) {
    this.send = send;
    this.first = "";
    this.keeps = keeps;
    this.box = long ? h("textarea", { rows: "2", maxlength: String(TEXT_MAX), dir: "auto" }) : h("input", { maxlength: String(NAME_MAX), autocomplete: "off", dir: "auto", required: true });
    this.status = h("p", { role: "status" });
    this.anyway = h("button", { type: "button", class: "button quiet", hidden: true, text: t("Send anyway"), onclick: () => this.submit(true) });
    this.yes = h("button", { class: "button quiet", text: yes });
    this.element = h("form", { class: "line" }, h("label", {}, h("span", { class: "soft", text: label }), this.box), h("span", { class: "buttons" }, this.yes, this.anyway), this.status);
    this.box.addEventListener("input", () => {
      this.anyway.hidden = true;
      this.once = null; // another text is another message
    });
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit(false);
    });
  }

  /** Shows the text as it is now, unless it is being changed here. */
  set(value) {
    if (this.box.value === this.first) this.box.value = value;
    this.first = value;
  }

  busy(sending) {
    this.sending = sending;
    this.yes.setAttribute("aria-disabled", String(sending));
    this.box.readOnly = sending;
  }

  async submit(agreed) {
    if (this.sending || (!this.box.value.trim() && !this.keeps)) return;
    this.busy(true);
    this.once ??= newId();
    this.anyway.hidden = true;
    try {
      await attempt(this.status, async () => {
        try {
          await this.send(this.box.value.trim(), agreed, this.once);
        } catch (error) {
          this.anyway.hidden = error.kind !== "costly";
          throw error;
        }
        this.once = null;
        if (!this.keeps) this.box.value = "";
        return "";
      });
    } finally {
      this.busy(false);
    }
  }
}

export class BoardsView {
  constructor() {
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.list = h("ul", { class: "cards" });
    const create = async (name, _agreed, once) => {
      const { board } = await post("/api/board/new", { name, once });
      this.go?.(`/b/${board}`);
    };
    this.form = new TextForm({ label: t("Name of the board"), yes: t("Begin it"), send: create });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("Boards") }), h("p", { class: "soft", text: t("A board has lists of cards, for work that several people share. Everyone in the mesh can read and change it.") }), this.about, this.list, h("section", { class: "card", "aria-label": t("New board") }, h("h2", { text: t("New board") }), this.form.element));
  }

  async refresh() {
    try {
      const { rows } = await get("/api/boards");
      setText(this.about, rows.length ? "" : t("There are no boards yet."));
      const drawn = JSON.stringify(rows);
      if (drawn !== this.drawn) this.list.replaceChildren(...rows.map(listed));
      this.drawn = drawn;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!this.drawn) setText(this.about, `${error.message} ${error.hint}`);
    }
  }
}

function listed(row) {
  const facts = tn(row.items, "{n} card. Last change: {time}.", "{n} cards. Last change: {time}.", { time: timeOf(row.last_us) });
  return h("li", { class: "card" }, h("a", { href: `/b/${row.id}`, "data-page": true }, h("bdi", { text: line(row.name, 80) || t("A board without a name") })), h("p", { class: "soft", text: row.ours ? facts : `${facts} ${t("You have not changed it yet.")}` }));
}

export class BoardView {
  constructor({ board }) {
    this.board = board;
    this.people = []; // whom cards can be given to
    this.columns = new Map(); // id: ColumnPart
    this.title = h("h1", { tabindex: "-1", text: t("Board") });
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.members = h("p", { class: "soft" });
    this.status = h("p", { role: "status" });
    this.invitation = h("div", { class: "notice", hidden: true }, h("p", { text: t("You are invited to this board. Phones show a board to its members only.") }), h("p", { class: "buttons" }, h("button", { type: "button", class: "button", text: t("Accept"), onclick: () => this.answer(true) }), h("button", { type: "button", class: "button quiet", text: t("Decline"), onclick: () => this.answer(false) })));
    this.lists = h("div", { class: "board" });
    this.add = new TextForm({ label: t("Name of a new list"), yes: t("Add the list"), send: this.sender("column/create", (name) => [name]) });
    this.rename = new TextForm({ label: t("Name of the board"), yes: t("Rename it"), keeps: true, send: this.sender("board/rename", (name) => [name]) });
    this.invite = new ChoiceForm({ label: t("Person to invite"), yes: t("Invite them"), send: (feed) => this.change("invite", [feed]) });
    this.leave = h("button", { type: "button", class: "button quiet", text: t("Leave the board"), onclick: () => this.attempt(() => this.change("leave", [])) });
    this.history = h("ul");
    this.element = h(
      "div",
      { class: "sheet board-sheet" },
      this.title,
      h("p", {}, h("a", { href: "/boards", class: "plain", "data-page": true, text: t("All boards") })),
      this.about,
      this.invitation,
      this.status,
      this.lists,
      h("section", { class: "card", "aria-label": t("New list") }, this.add.element),
      h("details", { class: "card" }, h("summary", { text: t("Name and members") }), this.members, this.rename.element, this.invite.element, h("div", {}, this.leave)),
      h("details", { class: "card" }, h("summary", { text: t("What happened on this board") }), this.history),
    );
  }

  /** Returns what sends a text as an operation. */
  sender(operation, argumentsOf) {
    return (text, agreed, once) => this.change(operation, argumentsOf(text), agreed, once);
  }

  async change(operation, args, agreed = false, once = newId()) {
    await post("/api/board/change", { board: this.board, operation, arguments: args, agreed, once });
    await this.refresh();
    return "";
  }

  attempt(work) {
    return attempt(this.status, work);
  }

  answer(accept) {
    this.attempt(async () => {
      await post("/api/board/answer", { board: this.board, accept, once: newId() });
      await this.refresh();
      return accept ? t("You are a member now.") : t("You declined.");
    });
  }

  async refresh() {
    try {
      const [found, people] = await Promise.all([get("/api/board", { board: this.board }), get("/api/people")]);
      this.people = people.rows.filter((one) => !one.blocked && !one.pending);
      this.draw(found);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, this.drawn ? `${error.message} ${t("Below is its last known state.")}` : `${error.message} ${error.hint}`);
    }
  }

  draw(found) {
    setText(this.about, found.whole ? t("Everyone in the mesh can read and change this board.") : t("Everyone in the mesh can read and change this board. It has more lists, cards or comments than this page shows."));
    const drawn = JSON.stringify([found, this.people]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    setText(this.title, line(found.name, 80) || t("A board without a name"));
    this.rename.set(found.name);
    const members = found.members.map(nameOf).join(", ");
    setText(this.members, members ? t("Members: {people}. Phones show a board to its members only.", { people: members }) : t("The board has no members. Phones show a board to its members only."));
    this.invitation.hidden = !found.invited;
    this.leave.hidden = !found.member;
    const feeds = new Set(found.members.map((one) => one.feed));
    this.invite.offer(choiceOf(this.people.filter((one) => !feeds.has(one.feed))));
    const before = this.columns;
    this.columns = new Map(found.columns.map((column) => [column.id, before.get(column.id) ?? new ColumnPart(this)]));
    for (const column of found.columns) this.columns.get(column.id).update(column, found.columns);
    arrange(this.lists, [...this.columns.values()].map(({ element }) => element));
    this.history.replaceChildren(...found.history.map(happened));
  }
}

function happened({ author, text, applied, committed_us: cameUs }) {
  const when = cameUs === null ? "" : timeOf(cameUs);
  return h("li", { class: "reader" }, h("span", {}, who(author), " ", h("span", { class: "soft", text: when })), h("span", {}, h("bdi", { text: line(text, NAME_MAX) }), applied ? "" : h("span", { class: "soft", text: ` ${t("It had no effect.")}` })));
}

/** A choice of a person or a list, and a button. */
class ChoiceForm {
  constructor({ label, yes, send }) {
    this.select = h("select");
    this.status = h("p", { role: "status" });
    this.element = h("form", { class: "line" }, h("label", {}, h("span", { class: "soft", text: label }), this.select), h("span", { class: "buttons" }, h("button", { class: "button quiet", text: yes })), this.status);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(this.status, () => send(this.select.value));
    });
  }

  /** Offers these values, each with its text; the choice stays. */
  offer(options) {
    const drawn = JSON.stringify(options);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const chosen = this.select.value;
    this.element.hidden = !options.length;
    this.select.replaceChildren(...options.map(([value, text]) => h("option", { value, text })));
    if (options.some(([value]) => value === chosen)) this.select.value = chosen;
  }
}

const choiceOf = (people) => people.map((one) => [one.feed, nameOf(one)]);

/** A list of the board. */
class ColumnPart {
  constructor(view) {
    this.view = view;
    this.cards = new Map(); // id: CardPart
    this.title = h("h2");
    this.list = h("ul", { class: "cards" });
    this.empty = h("p", { class: "soft", text: t("There are no cards.") });
    this.add = new TextForm({ label: t("Name of a new card"), yes: t("Add the card"), send: view.sender("item/create", (name) => [this.id, name]) });
    this.rename = new TextForm({ label: t("Name of the list"), yes: t("Rename it"), keeps: true, send: view.sender("column/rename", (name) => [this.id, name]) });
    this.remove = h("button", { type: "button", class: "button quiet", text: t("Remove the list"), onclick: () => view.attempt(() => view.change("column/remove", [this.id])) });
    this.more = h("details", {}, h("summary", { text: t("Change this list") }), this.rename.element, h("p", { class: "soft", text: t("Cards of a list that is removed stay on the board, where they can be moved.") }), h("div", {}, this.remove));
    this.element = h("section", { class: "card column" }, this.title, this.list, this.empty, this.add.element, this.more);
  }

  update(column, columns) {
    this.id = column.id;
    const name = line(column.name, 80) || t("A list without a name");
    setText(this.title, column.removed ? t("{name} (removed)", { name }) : name);
    this.element.setAttribute("aria-label", name);
    this.rename.set(column.name);
    this.add.element.hidden = this.more.hidden = column.removed;
    const before = this.cards;
    this.cards = new Map(column.items.map((item) => [item.id, before.get(item.id) ?? new CardPart(this.view)]));
    for (const item of column.items) this.cards.get(item.id).update(item, column.id, columns.filter((one) => !one.removed));
    arrange(this.list, [...this.cards.values()].map(({ element }) => element));
    this.empty.hidden = column.items.length > 0;
  }
}

/** A card: its name and who does it; opened, everything on it. */
class CardPart {
  constructor(view) {
    this.view = view;
    const change = (operation, argumentsOf) => view.sender(operation, (text) => [this.id, ...argumentsOf(text)]);
    this.name = h("bdi");
    this.facts = h("span", { class: "soft" });
    this.description = h("p", { class: "text", dir: "auto" });
    this.comments = h("ul", { "aria-label": t("Comments") });
    this.move = new ChoiceForm({ label: t("List to move the card to"), yes: t("Move it"), send: (list) => view.change("item/moveTo", [this.id, list]) });
    this.comment = new TextForm({ label: t("Comment"), yes: t("Write it"), long: true, send: change("item/post", (text) => [text]) });
    this.describe = new TextForm({ label: t("Description"), yes: t("Save it"), long: true, keeps: true, send: change("item/setDiscription", (text) => [text]) });
    this.rename = new TextForm({ label: t("Name of the card"), yes: t("Rename it"), keeps: true, send: change("item/rename", (text) => [text]) });
    this.give = new ChoiceForm({ label: t("Person to give the card to"), yes: t("Give it to them"), send: (feed) => view.change("item/assign", [this.id, feed]) });
    this.takers = h("span", { class: "buttons" });
    this.remove = h("button", { type: "button", class: "button quiet", text: t("Remove the card"), onclick: () => view.attempt(() => view.change("item/remove", [this.id])) });
    this.body = h("div", { class: "cards" }, this.description, this.comments, this.comment.element, this.move.element, this.takers, this.give.element, h("details", {}, h("summary", { text: t("Change this card") }), this.rename.element, this.describe.element, h("div", {}, this.remove)));
    this.element = h("li", { class: "item" }, h("details", {}, h("summary", {}, this.name, " ", this.facts), this.body));
  }

  update(item, column, columns) {
    this.id = item.id;
    this.move.offer(columns.filter((one) => one.id !== column).map((one) => [one.id, line(one.name, 60) || t("A list without a name")]));
    const assigned = new Set(item.assignees.map((one) => one.feed));
    this.give.offer(choiceOf(this.view.people.filter((one) => !assigned.has(one.feed))));
    const drawn = JSON.stringify(item);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    setText(this.name, line(item.name, 80) || t("A card without a name"));
    const facts = [item.assignees.map(nameOf).join(", "), item.comments.length ? tn(item.comments.length, "{n} comment", "{n} comments") : ""];
    setText(this.facts, facts.filter(Boolean).join(" · "));
    this.description.hidden = !item.description;
    setText(this.description, visible(item.description));
    this.rename.set(item.name);
    this.describe.set(item.description);
    this.comments.replaceChildren(...item.comments.map(({ author, text }) => h("li", {}, who(author), h("p", { class: "text", dir: "auto", text: visible(text) }))));
    this.takers.replaceChildren(...item.assignees.map((one) => h("button", { type: "button", class: "button quiet", onclick: () => this.view.attempt(() => this.view.change("item/unassign", [this.id, one.feed])) }, h("span", {}, ...parts(t("Take it from {person}"), { person: named(one) })))));
  }
}
