// Private conversations of a guest, each with one person. The node hands over what it cannot open, and this browser tries its key.

import { ApiError, get } from "/static/api.js";
import { Composer } from "/static/composer.js";
import { announce, arrange, h, setParts, setText } from "/static/dom.js";
import { fromBase64 } from "/static/entries.js";
import { parts, t } from "/static/language.js";
import { Message, named, who } from "/static/message.js";
import { person, stored, store } from "/static/person.js";
import { SealKey } from "/static/sealed.js";
import { nameOf } from "/static/words.js";

const KEY = "letters";
const ROWS_MAX = 2_000; // letters that are kept on the phone
const AGAIN_MAX = 16; // as the node answers
const BATCH = 8; // tried at the same time

const timeOf = (letter) => (letter.saidS === null ? letter.committed_us : Math.min(letter.saidS * 1_000_000, letter.committed_us));
const orderOf = (letter) => String(timeOf(letter)).padStart(17, "0") + String(letter.arrival).padStart(12, "0");

class Letters {
  constructor() {
    this.state = null; // {feed, after, lacking, rows, seen}
    this.people = new Map(); // feed: author
  }

  /** Gets what is new, and opens what is for this person. Throws ApiError. */
  async sync() {
    this.syncing ??= this.load().finally(() => { this.syncing = null; });
    return this.syncing;
  }

  async load() {
    if (!person.me?.secret) return;
    if (this.state?.feed !== person.me.feed) {
      const kept = await stored(KEY);
      this.state = kept?.feed === person.me.feed ? kept : { feed: person.me.feed, after: 0, lacking: [], rows: [], seen: {} };
      this.key = new SealKey(person.me);
    }
    const { rows } = await get("/api/guest/people");
    this.people = new Map(rows.map((author) => [author.feed, author]));
    while (await this.loadNext());
  }

  /** Returns whether there is more. */
  async loadNext() {
    const { state } = this;
    const found = await get("/api/guest/sealed", { after: state.after, again: state.lacking.join(",") || null });
    const opened = [];
    for (let at = 0; at < found.rows.length; at += BATCH) opened.push(...(await Promise.all(found.rows.slice(at, at + BATCH).map((row) => this.open(row)))));
    const fresh = opened.filter((letter) => letter && !state.rows.some((one) => one.id === letter.id));
    const lacking = found.lacking.slice(-AGAIN_MAX);
    const changed = fresh.length > 0 || found.after !== state.after || lacking.join() !== state.lacking.join();
    Object.assign(state, { after: found.after, lacking, rows: [...state.rows, ...fresh].slice(-ROWS_MAX) });
    if (changed) await store(KEY, state);
    return found.more && changed;
  }

  async open({ content, ...row }) {
    const found = await this.key.open(fromBase64(content), row.feed);
    return found && { ...row, ...found };
  }

  /** Returns all letters of the person whose key this browser has. */
  get rows() {
    return this.state && this.state.feed === person.me?.feed ? this.state.rows : [];
  }

  /** Returns the letters with a person, in their order. */
  with(feed) {
    return this.rows.filter((letter) => letter.other === feed).sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
  }

  /** Returns the message that a new one follows, if there is one. */
  last(feed) {
    return this.with(feed).at(-1)?.id ?? null;
  }

  author(feed) {
    return this.people.get(feed) ?? { feed, name: null, alone: false, own: feed === person.me?.feed };
  }

  /** Returns the conversations as the page lists them, the latest first. */
  get conversations() {
    const others = [...new Set(this.rows.map((letter) => letter.other))];
    const rows = others.map((feed) => {
      const letters = this.with(feed);
      const unread = letters.filter((letter) => letter.feed === feed && letter.arrival > (this.state.seen[feed] ?? 0)).length;
      const last = this.shape(letters.at(-1));
      return { name: feed, title: null, note: "", muted: false, members: [this.author(feed)], last, unread, last_us: last.committed_us };
    });
    return rows.sort((one, other) => other.last_us - one.last_us);
  }

  async markSeen(feed) {
    const arrival = Math.max(0, ...this.with(feed).map((letter) => letter.arrival));
    if (!arrival || arrival <= (this.state.seen[feed] ?? 0)) return;
    this.state.seen[feed] = arrival;
    await store(KEY, this.state);
  }

  /** Returns a letter as the page shows messages. */
  shape(letter, above = null) {
    const own = letter.feed === person.me.feed;
    const said = letter.saidS === null ? null : letter.saidS * 1_000_000;
    const answered = letter.ties[0] && letter.ties[0] !== above?.id ? this.rows.find((one) => one.id === letter.ties[0]) : null;
    return {
      id: letter.id, seq: letter.seq, author: this.author(letter.feed), own, kind: "text", text: letter.text, cut: false,
      committed_us: letter.committed_us, said_us: said, written_us: timeOf(letter), doubtful: false, late: false, placed: letter.arrival, order: orderOf(letter),
      missing: 0, packets: 1, chunks: 0, chunks_held: 0, private: true, file: null, held: "",
      answers: answered ? [{ id: answered.id, author: this.author(answered.feed), text: answered.text, kind: "text", file: null }] : [],
    };
  }
}

export const letters = new Letters();

/** Returns why private messages cannot be read here; empty if they can. */
function obstacle() {
  if (!person.possible) return t("Private messages need a key, which browsers keep for pages over HTTPS only.");
  if (!person.me) return t("Private messages need a key. Begin on the page “You”.");
  if (person.me.secret === undefined) return t("Your key was made before this page could open private messages. To read them, delete it on the page “You”, and restore it from your 24 words.");
  if (person.me.secret === null) return t("This browser cannot open private messages. Newer ones can: Chrome 137, Firefox 130, Safari 17.");
  if (person.me.dialect !== "spec") return t("This node writes for the phone app, whose private messages this page cannot open yet.");
  return "";
}

export class LetterView {
  constructor(feed) {
    this.feed = feed;
    this.rows = new Map(); // id: Message
    this.title = h("h1", { tabindex: "-1", text: t("Private") });
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.list = h("ol", { "aria-label": t("Messages") });
    this.composer = new Composer({ key: feed, sent: () => this.refresh() });
    this.composer.target = { to: [feed] };
    this.composer.element.hidden = true;
    this.scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Conversation") }, this.list, this.composer.waiting.element);
    this.element = h(
      "div",
      { class: "chat" },
      h("section", { class: "conversation" }, h("header", {}, this.title, this.about, h("a", { href: "/c/public", class: "plain", "data-page": true, text: t("All conversations") })), this.scroll, this.composer.element),
    );
  }

  async refresh() {
    try {
      await letters.sync();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // without the node, what was opened before is shown
    }
    if (!this.closed) this.draw();
  }

  draw() {
    const author = letters.author(this.feed);
    const trouble = obstacle() || (author.private === false ? t("This person uses the phone app, which this page cannot write private messages for yet.") : "");
    setParts(this.title, named(author));
    if (trouble) setText(this.about, trouble);
    else setParts(this.about, parts(t("Only {people} and you can read this."), { people: named(author) }));
    this.composer.element.hidden = Boolean(trouble) || !person.canWrite;
    const found = letters.with(this.feed);
    const before = this.rows.size;
    found.forEach((letter, at) => {
      const row = letters.shape(letter, found[at - 1]);
      const known = this.rows.get(letter.id);
      if (known) known.update(row);
      else this.rows.set(letter.id, new Message(row, this));
    });
    arrange(this.list, found.map((letter) => this.rows.get(letter.id).element));
    if (this.rows.size > before) this.scroll.scrollTop = this.scroll.scrollHeight;
    if (!document.hidden) letters.markSeen(this.feed);
  }

  answer(row) {
    this.composer.answer(row);
  }

  reveal(id) {
    const message = this.rows.get(id);
    if (!message) announce(t("That message has not arrived yet."));
    else message.element.scrollIntoView({ block: "center" });
  }

  close() {
    this.composer.close();
    this.closed = true;
  }
}

/** The people that a guest can write to. */
export class LetterPeopleView {
  constructor() {
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.list = h("ul", { class: "cards" });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("People") }), this.about, this.list);
  }

  async refresh() {
    const trouble = obstacle();
    setText(this.about, trouble || t("Anyone can take any name; the digits are unique. Private messages can be read by the two of you, on any node."));
    try {
      const { rows } = await get("/api/guest/people");
      const drawn = JSON.stringify([rows, trouble]);
      if (drawn !== this.drawn) this.list.replaceChildren(...rows.map((row) => card(row, !trouble)));
      this.drawn = drawn;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!this.drawn) setText(this.about, `${error.message} ${error.hint}`);
    }
  }
}

function card(row, possible) {
  const write = possible && row.private && !row.own && h("a", { class: "button quiet", href: `/c/${row.feed}`, "data-page": true }, t("Write"), h("span", { class: "unseen" }, ...parts(` ${t("to {name}")}`, { name: h("bdi", { text: nameOf(row) }) })));
  return h("li", { class: "card person" }, h("div", {}, h("p", {}, who(row)), h("details", {}, h("summary", { text: t("Feed id") }), h("code", { text: row.feed }))), write);
}
