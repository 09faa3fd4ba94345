// The chat view: the list of conversations, the messages of one, the box to write in.

import { ApiError, get, getKept, post } from "/static/api.js";
import { Composer } from "/static/composer.js";
import { announce, arrange, h, setParts, setText } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { Message, named } from "/static/message.js";
import { person } from "/static/person.js";
import { holdersOf, line, nameOf, size, summaryOf } from "/static/words.js";

const NEAR_END_PX = 80;
const RECEIPTS_MS = 30_000; // receipts change without new messages
const RETRY_MS = 2_000;
const ANNOUNCED_MAX = 3; // messages that a screen reader announces; of more only the number

const listOf = (members) => members.flatMap((member, place) => [place ? ", " : "", ...named(member)]);

/** Returns the title of a conversation, as text and elements. */
export function titleOf({ name, title, members }) {
  if (title) return [h("bdi", { text: title })];
  if (name === "public") return [t("Public")];
  return members.length ? listOf(members) : [t("Notes to myself")];
}

/** Returns who can read a private conversation, as a sentence of text and elements. */
function accessOf({ title, members, history_missing: historyMissing }) {
  const all = members.length + 1;
  if (historyMissing) return [tn(all, "At least {n} member can read this.", "At least {n} members can read this.")];
  if (title) return [tn(all, "Only the {n} member of this group can read this.", "Only the {n} members of this group can read this.")];
  return members.length ? parts(t("Only {people} and you can read this."), { people: listOf(members) }) : [t("Only you can read this.")];
}

/** Returns who will be able to read what is written in a conversation that has no messages yet. */
function futureAccessOf({ members }) {
  return members.length ? parts(t("Only {people} and you will be able to read this."), { people: listOf(members) }) : [t("Only you will be able to read this.")];
}

export class ChatView {
  /** Opens a conversation by its name, or with people (their feeds, by commas): then it may have no messages yet. */
  constructor({ conversation = null, feeds = null }) {
    this.conversation = conversation;
    this.feeds = feeds;
    this.rows = new Map(); // id: Message
    this.more = false;
    this.loaded = false;
    this.circle = { name: null, title: null, members: [] };
    this.title = h("h1", { tabindex: "-1", text: conversation === "public" ? t("Public") : t("Private") });
    this.about = h("p", { class: "soft" });
    this.details = h("a", { class: "plain", "data-page": true, hidden: true, text: t("Members and details") });
    this.links = h("ul");
    this.drawn = new Map(); // by name: the state of a conversation, and its link
    this.further = (person.guest ? [["/people", t("Write privately")]] : [["/write", t("Write privately")], ["/new", t("New group")], ["/boards", t("Boards")], ["/search", t("Search")]]).map(([href, text]) => h("li", {}, h("a", { href, "data-page": true, class: "new", text })));
    this.choice = h("p", { class: "choice" });
    this.earlier = h("button", { type: "button", class: "plain middle", text: t("Show earlier messages"), hidden: true, onclick: () => this.loadEarlier() });
    this.empty = h("li", { class: "middle soft", text: t("There are no messages yet.") });
    this.list = h("ol", { "aria-label": t("Messages") });
    this.waiting = new Map(); // id: Message that has no place yet
    this.arriving = h("ul", { class: "arriving", "aria-label": t("Arriving") });
    this.lacking = h("p", { class: "gap", hidden: true });
    this.composer = new Composer({ key: conversation ?? feeds, sent: (answer) => this.sent(answer) });
    this.scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Conversation"), onscroll: () => this.scrolled() }, h("p", { class: "middle" }, this.earlier), this.list, this.lacking, this.arriving, this.composer.waiting.element);
    this.older = new Map(); // id: order, of messages that arrived after others that come behind them
    this.up = h("button", { type: "button", class: "up", hidden: true, onclick: () => this.toOlder() });
    this.newer = h("button", { type: "button", class: "button newer", hidden: true, onclick: () => this.toEnd() });
    this.composer.element.prepend(this.newer);
    this.element = h(
      "div",
      { class: "chat" },
      h("a", { class: "skip", href: "#say", text: t("Skip to the message box") }),
      h("nav", { class: "conversations", "aria-label": t("Conversations") }, this.links, this.choice),
      h("section", { class: "conversation" }, h("header", {}, this.title, this.about, this.details), this.up, this.scroll, this.composer.element),
    );
    this.timer = setInterval(() => { if (!document.hidden) this.refresh(); }, RECEIPTS_MS);
    this.marked = 0;
    this.seen = () => {
      if (document.hidden) return;
      this.markRead();
      this.refresh();
    };
    document.addEventListener("visibilitychange", this.seen);
  }

  close() {
    this.composer.close();
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    this.closed = true;
  }

  /** Shows the choice of notifications, and gives them the conversations. */
  notify(notices) {
    this.notices = notices;
    this.choice.replaceChildren(notices.button);
  }

  /** Loads what is new. One request at a time; calls in the meantime cause one more. */
  async refresh() {
    if (this.loading) {
      this.again = true;
      return;
    }
    this.loading = true;
    try {
      await this.load();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!this.loaded) {
        setText(this.about, `${error.message} ${error.hint}`);
        setTimeout(() => { if (!this.closed && !this.loaded) this.refresh(); }, RETRY_MS);
      }
    } finally {
      this.loading = false;
    }
    if (this.again && !this.closed) {
      this.again = false;
      this.refresh();
    }
  }

  async load() {
    if (!this.loaded) await this.loadKept();
    if (this.conversation === null) await this.findCircle();
    const [list, found] = await Promise.all([
      get("/api/conversations"),
      this.conversation === null ? null : get("/api/messages", { conversation: this.conversation }),
      person.guest ? this.loadLetters() : null,
    ]);
    if (this.letters) list.rows.push(...this.letters.conversations);
    if (!this.closed) this.show(list, found);
  }

  /** Gets the private messages of a guest. */
  async loadLetters() {
    if (!person.me?.secret) return;
    try {
      ({ letters: this.letters } = await import("/static/letters.js"));
      await this.letters.sync();
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof TypeError)) throw error; // without the node
    }
  }

  /** Shows at once what this browser kept, until the node has answered. */
  async loadKept() {
    if (this.conversation === null) return;
    const [list, found] = await Promise.all([getKept("/api/conversations"), getKept("/api/messages", { conversation: this.conversation })]);
    if (list && found && !this.closed) this.show(list, found);
  }

  show(list, found) {
    this.drawConversations(list.rows);
    this.notices?.see(list.rows, this.conversation);
    if (found) {
      this.circle = found;
      this.composer.target = { conversation: this.conversation };
      this.composer.attachment.offer(found.title && found.note ? null : this.conversation, Boolean(found.title));
      this.composer.recording.offer(!found.title && !person.guest);
      this.closeWriting(Boolean(found.note) || (person.guest && !person.canWrite));
      const note = found.note ? ` ${t("You cannot write here: {reason}.", { reason: found.note })}` : "";
      const alert = found.alert ? ` ${t("Note: {event}, behind “Members and details”.", { event: found.alert })}` : "";
      setParts(this.about, this.conversation === "public" ? [t("Everyone in the mesh can read this."), ...this.invitation()] : [...accessOf(found), `${note}${alert}`]);
      this.showMessages(found);
    } else {
      setParts(this.about, futureAccessOf(this.circle));
      arrange(this.list, [this.empty]);
    }
    setParts(this.title, titleOf(this.circle));
    this.details.hidden = !this.circle.title;
    if (this.circle.title) this.details.setAttribute("href", `/g/${this.conversation}`);
  }

  /** Returns how a guest who cannot write yet begins to. */
  invitation() {
    return person.guest && !person.canWrite ? [" ", h("a", { href: "/you", "data-page": true, text: t("Write as yourself") })] : [];
  }

  /** Offers no way to write in a group where nobody would read it; the header says why. */
  closeWriting(closed) {
    this.composer.element.hidden = closed;
    this.list.classList.toggle("closed", closed);
  }

  async findCircle() {
    const found = await get("/api/circle", { feed: this.feeds });
    this.circle = { ...found, title: null };
    this.composer.target = { to: this.feeds.split(",") };
    if (found.name !== null) this.conversation = found.name;
  }

  /** Draws again only the links that changed: a link that is replaced while it is pressed is not followed. */
  drawConversations(rows) {
    const before = this.drawn;
    this.drawn = new Map(rows.map((row) => {
      const state = JSON.stringify([row, row.name === this.conversation]);
      const known = before.get(row.name);
      return [row.name, known?.state === state ? known : { state, element: this.linkTo(row) }];
    }));
    const focused = this.links.contains(document.activeElement) ? document.activeElement : null;
    arrange(this.links, [...[...this.drawn.values()].map(({ element }) => element), ...this.further]);
    if (focused && focused !== document.activeElement) this.links.querySelector(`a[href="${focused.pathname}"]`)?.focus();
  }

  linkTo(row) {
    const here = row.name === this.conversation;
    const preview = row.last ? [...named(row.last.author), ": ", h("bdi", { text: summaryOf(row.last) })] : [t("No messages yet")];
    const link = h("a", { href: `/c/${row.name}`, "data-page": true, "aria-current": here ? "page" : null }, h("span", { class: "title" }, ...titleOf(row), row.muted && h("span", { class: "soft", text: ` ${t("muted")}` })), row.unread > 0 && !here && h("strong", { class: "unread", text: ` ${tn(row.unread, "{n} new", "{n} new")}` }), h("span", { class: "preview" }, ...preview));
    return h("li", {}, link);
  }

  showMessages(found) {
    const atEnd = this.atEnd();
    const fresh = found.rows.filter((row) => !this.rows.has(row.id));
    if (this.loaded && found.more && fresh.length === found.rows.length) this.rows.clear(); // more was missed than fits into one reply
    if (!this.rows.size || !this.loaded) this.more = found.more;
    for (const row of found.rows) this.put(row);
    this.waiting = new Map(found.waiting.map((row) => [row.id, this.known(row, this.waiting)]));
    for (const { id, order } of found.older ?? []) this.older.set(id, order);
    this.drawRows();
    this.drawArriving(found.arriving ?? []);
    this.lacking.hidden = !found.lacking;
    setText(this.lacking, found.lacking ? `${found.lacking}.` : "");
    if (found.rows.some((row) => row.own) && !person.guest) this.loadReceipts();
    if (!document.hidden) this.markRead();
    if (!this.loaded) {
      this.loaded = true;
      this.toEnd();
      return;
    }
    const others = found.muted ? [] : fresh.filter((row) => !row.own);
    if (others.length) this.announceNew(others);
    if (atEnd) this.toEnd();
    else if (others.length) {
      this.newer.hidden = false;
      setText(this.newer, t("New messages ↓"));
    }
  }

  /** Marks what is loaded as read, for all screens of the node. */
  async markRead() {
    const placed = Math.max(0, ...[...this.rows.values()].map((message) => message.row.placed));
    if (placed <= this.marked || this.conversation === null || person.guest) return;
    this.marked = placed;
    try {
      await post("/api/read", { conversation: this.conversation, placed });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.marked = 0; // the next look tries again
    }
  }

  put(row) {
    this.rows.set(row.id, this.known(row, this.rows));
  }

  /** Returns the message of a row, the same one as before if there is one. */
  known(row, messages) {
    const message = messages.get(row.id) ?? new Message(row, this);
    message.update(row);
    return message;
  }

  /** Shows the receipts of our messages; none if the request fails. */
  async loadReceipts() {
    try {
      const { receipts } = await get("/api/receipts");
      const atEnd = this.atEnd();
      this.showHolders(receipts);
      if (atEnd) this.toEnd();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** Shows who has our messages: at the last of those that the same nodes have. */
  showHolders(receipts) {
    let last = null; // the message above, who has it, and since when others lack it
    for (const message of this.sorted()) {
      const receipt = receipts[message.row.id];
      if (!receipt && !message.row.held) continue;
      const state = receipt ? JSON.stringify([receipt.held, receipt.proven, receipt.expected, receipt.missing]) : message.row.held;
      const same = last?.state === state;
      if (same) last.message.showHolders("");
      const sinceUs = same ? last.sinceUs : receipt?.committed_us;
      message.showHolders(receipt ? holdersOf(receipt, sinceUs) : message.row.held, Boolean(receipt));
      last = { message, state, sinceUs };
    }
  }

  /** Returns the messages in their order. */
  sorted() {
    return [...this.rows.values(), ...this.waiting.values()].sort((one, other) => (one.row.order < other.row.order ? -1 : 1));
  }

  drawRows() {
    const sorted = this.sorted();
    arrange(this.list, sorted.length ? sorted.map((message) => message.element) : [this.empty]);
    this.earlier.hidden = !this.more;
    for (const message of sorted) message.showOlder(this.older.has(message.row.id));
    const hidden = this.olderHidden();
    this.up.hidden = !hidden.length;
    setText(this.up, hidden.length ? tn(hidden.length, "{n} older message arrived ↑", "{n} older messages arrived ↑") : "");
    const answers = new Map();
    for (const { row } of sorted) answers.set(row.reply_to, (answers.get(row.reply_to) ?? 0) + 1);
    for (const message of sorted) message.showThread(this.conversation, answers.get(message.row.id) ?? 0);
  }

  /** Shows how far messages and files have arrived of which packets are missing. */
  drawArriving(rows) {
    const drawn = JSON.stringify(rows);
    if (drawn === this.drawnArriving) return;
    this.drawnArriving = drawn;
    this.arriving.replaceChildren(...rows.map((row) => {
      const what = row.file ? t("File {name} of {author}, {size}: {packets}") : t("A message of {author}, {size}: {packets}");
      const packets = tn(row.chunks, "{held} of {n} packet", "{held} of {n} packets", { held: row.chunks_held });
      const words = parts(what, { name: h("bdi", { text: line(row.name ?? "", 40) || t("without a name") }), author: named(row.author), size: size(row.size), packets });
      return h("li", {}, h("span", {}, ...words), h("progress", { max: row.chunks, value: row.chunks_held, "aria-label": t("Packets that have arrived") }));
    }));
  }

  announceNew(rows) {
    if (rows.length > ANNOUNCED_MAX) announce(tn(rows.length, "{n} new message", "{n} new messages"));
    else announce(rows.map((row) => `${nameOf(row.author)}: ${summaryOf(row, 300)}`).join(". "));
  }

  async loadEarlier() {
    const found = await this.loadBefore(this.firstOrder());
    if (!found) return;
    announce(tn(found.rows.length, "{n} earlier message shown above", "{n} earlier messages shown above"));
    this.rows.get(found.rows.at(-1)?.id)?.element.focus({ preventScroll: true });
  }

  /** Returns the position of the first message that is loaded; there is one. */
  firstOrder() {
    return [...this.rows.values()].map((message) => message.row.order).reduce((one, other) => (one < other ? one : other));
  }

  /** Loads the messages before a position, and returns the answer; null after an error, which is announced. */
  async loadBefore(before) {
    try {
      const found = await get("/api/messages", { conversation: this.conversation, before });
      const height = this.scroll.scrollHeight;
      const first = this.firstOrder();
      if ((found.rows[0]?.order ?? before) <= first) this.more = found.more;
      for (const row of found.rows) this.put(row);
      this.drawRows();
      this.scroll.scrollTop += this.scroll.scrollHeight - height;
      return found;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      announce(error.message);
      return null;
    }
  }

  /** Returns id and order of the older messages that arrived and are not loaded, the first in order first. */
  olderHidden() {
    return [...this.older].filter(([id]) => !this.rows.has(id)).sort(([, one], [, other]) => (one < other ? -1 : 1));
  }

  /** Loads the older messages that arrived, all between them and the latest too, and shows the first of them. */
  async toOlder() {
    const hidden = this.olderHidden();
    for (const [id, order] of hidden) {
      while (!this.rows.has(id)) {
        const loaded = this.rows.size;
        const first = this.firstOrder();
        await this.loadBefore(order < first ? first : `${order}00`);
        if (this.rows.size === loaded) break; // a failure, or it is gone
      }
    }
    if (hidden.length) this.reveal(hidden[0][0]);
  }

  /** Brings a message into view; one that is not loaded in its thread. */
  reveal(id) {
    const message = this.rows.get(id);
    if (!message) {
      this.go?.(`/t/${this.conversation}/${id}`);
      return;
    }
    message.element.scrollIntoView({ block: "center" });
    message.element.focus({ preventScroll: true });
  }

  answer(row) {
    this.composer.answer(row);
  }

  async sent(answer) {
    if (this.feeds !== null && answer.conversation) { // the event about it may arrive before the reply
      this.go?.(`/c/${answer.conversation}`, { replace: true });
      return;
    }
    await this.refresh();
    this.toEnd();
  }

  atEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < NEAR_END_PX;
  }

  /** Keeps the end in view while a picture takes its room. */
  grown() {
    if (this.ended) this.toEnd();
  }

  toEnd() {
    this.ended = true;
    this.scroll.scrollTop = this.scroll.scrollHeight;
    this.newer.hidden = true;
  }

  scrolled() {
    this.ended = this.atEnd();
    if (this.ended) this.newer.hidden = true;
  }
}
