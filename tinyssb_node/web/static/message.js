// One message of the list.

import { ApiError, get, getBytes } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { called, digits, fullTime, isHappening, line, nameOf, size, summaryOf, textOf, timeOf } from "/static/words.js";

const FOLD_CHARACTERS = 1_200;
const FOLD_LINES = 14;
const TEXTS = new Set(["text", "TAV", "happening"]);

export class Message {
  constructor(row, view) {
    this.view = view;
    this.element = h("li", { id: `m-${row.id}`, tabindex: "-1" });
    this.receipt = h("span");
    this.holders = new Holders();
    this.older = h("span", { class: "older", text: t("Older message"), hidden: true });
    this.thread = h("a", { class: "plain", "data-page": true, hidden: true });
    this.update(row);
  }

  update(row) {
    const drawn = JSON.stringify(row);
    if (drawn !== this.drawn) {
      this.row = row;
      this.drawn = drawn;
      this.draw();
    }
  }

  /** Shows who has it, in words; empty: the same nodes have a later message of ours. `whole`: all about it can be shown. */
  showHolders(words, whole = false) {
    setText(this.receipt, whole ? "" : words);
    this.holders.show(whole ? words : "", this.row.id);
  }

  /** Marks a message that arrived after others that come behind it. */
  showOlder(older) {
    this.older.hidden = !older;
  }

  /** Links to the thread that it is in; *answers*: how many of its answers are loaded. */
  showThread(conversation, answers) {
    const { row } = this;
    this.thread.hidden = !(answers || row.reply_to);
    this.thread.setAttribute("href", `/t/${conversation}/${row.id}`);
    setText(this.thread, answers ? tn(answers, "{n} answer", "{n} answers") : t("Thread"));
  }

  draw() {
    const { row } = this;
    this.element.className = `message${row.own ? " own" : ""}${row.placed === null ? " waits" : ""}${isHappening(row) ? " happening" : ""}`;
    this.element.replaceChildren(
      ...(row.gap ? [h("p", { class: "gap", dir: "auto", text: `… ${t("{missing} before this", { missing: row.gap })} …` })] : []),
      h("header", {}, who(row.author), h("time", { datetime: new Date(row.written_us / 1_000).toISOString(), title: this.times(), text: `${timeOf(row.written_us)}${row.doubtful ? "?" : ""}${row.late ? `, ${t("arrived {time}", { time: timeOf(row.committed_us) })}` : ""}` })),
      ...(row.answers ?? []).map((quoted) => this.quote(quoted)),
      ...this.body(),
      h("footer", {}, this.older, this.foot(), row.remark ? h("span", { text: row.remark }) : null, this.receipt, this.holders.element, this.thread, this.button()),
    );
  }

  times() {
    const { row } = this;
    const written = { time: fullTime(row.written_us) };
    const came = { time: fullTime(row.committed_us) };
    const said = row.said_us === null ? "" : `; ${t("by its author’s clock {time}", { time: fullTime(row.said_us) })}`;
    return `${row.doubtful ? t("Written {time}, which is uncertain.", written) : t("Written {time}.", written)} ${row.own ? t("Stored {time}", came) : t("Arrived {time}", came)}${said}`;
  }

  quote(quoted) {
    const text = quoted.text ? summaryOf(quoted, 100) : quoted.kind;
    return h(
      "button",
      { type: "button", class: "quote", onclick: () => this.view.reveal(quoted.id) },
      h("span", { class: "unseen", text: `${t("Follows")} ` }),
      named(quoted.author),
      ": ",
      h("bdi", { text }),
    );
  }

  body() {
    const { row } = this;
    if (row.chunks_held < row.chunks) return [h("p", { class: "text odd", text: tn(row.chunks, "Incomplete: {held} of {n} packet have arrived.", "Incomplete: {held} of {n} packets have arrived.", { held: row.chunks_held }) })];
    const parts = [];
    if (row.file?.href) return this.file(row.file);
    if (row.text) {
      const text = textOf(row);
      const paragraph = h("p", { class: TEXTS.has(row.kind) ? "text" : "text odd", dir: "auto", text: row.cut ? `${text}…` : text });
      if (!TEXTS.has(row.kind)) parts.push(h("p", { class: "soft", text: t("Not a text, but {kind}:", { kind: row.kind }) }));
      parts.push(paragraph);
      if (text.length > FOLD_CHARACTERS || text.split("\n").length > FOLD_LINES) parts.push(this.unfold(paragraph));
      if (row.cut) parts.push(h("p", { class: "soft", text: t("The message has {size}; only its beginning is shown.", { size: size(row.size) }) }));
    }
    if (row.voice) parts.push(this.voice(row.voice));
    return parts;
  }

  /** Returns recorded voice: a button that plays it, and a link that saves it. */
  voice({ href, save }) {
    const status = h("span", { role: "status" });
    const button = h("button", { type: "button", class: "button quiet", text: t("Play the recording"), onclick: () => this.play(button, status, href) });
    const soft = h("span", { class: "soft", text: size(this.row.voice_size) });
    return h("p", { class: "voice" }, button, soft, h("a", { class: "plain", href: save, download: "", text: t("Save") }), status);
  }

  async play(button, status, href) {
    setText(status, t("Loading…"));
    try {
      const { playerOf } = await import("/static/voice.js");
      const player = playerOf(await getBytes(href), t("Voice recording"));
      button.replaceWith(player);
      setText(status, "");
      this.view.grown?.();
      await player.play().catch(() => {}); // the browser may want one more press
    } catch (error) {
      setText(status, error instanceof ApiError ? `${error.message} ${error.hint}` : t("The page’s server does not answer."));
    }
  }

  /** Returns a file: its name and size, a picture itself, and a link that saves it. */
  file({ name, size: bytes, href, picture, note }) {
    const shown = line(name, 60) || t("without a name");
    const picked = picture && h("img", { class: "picture", src: href, alt: shown, onload: () => this.view.grown?.() });
    return [
      h("p", { class: "text odd" }, ...parts(t("File {name}"), { name: h("bdi", { text: shown }) }), `, ${size(bytes)}${note}`),
      picked,
      h("p", {}, h("a", { class: "plain", href, download: "", text: t("Save") })),
    ].filter(Boolean);
  }

  unfold(paragraph) {
    paragraph.classList.add("folded");
    const button = h("button", { type: "button", class: "plain", text: t("Show all"), "aria-expanded": "false" });
    button.addEventListener("click", () => {
      const folded = paragraph.classList.toggle("folded");
      button.setAttribute("aria-expanded", String(!folded));
      setText(button, folded ? t("Show all") : t("Show less"));
    });
    return button;
  }

  foot() {
    const { row } = this;
    if (row.placed === null) return h("span", { text: t("Waits for earlier messages") });
    return h("span", { text: row.packets > 1 ? tn(row.packets, "{n} packet", "{n} packets") : "" });
  }

  button() {
    const { row } = this;
    if (row.placed === null) return null;
    return h("button", { type: "button", class: "plain answer", onclick: () => this.view.answer(row) }, t("Answer"), h("span", { class: "unseen" }, " ", h("bdi", { text: nameOf(row.author) })));
  }
}

/** The words about who has a message of ours; opened, they name each person and node. */
class Holders {
  constructor() {
    this.words = h("summary");
    this.list = h("ul");
    this.element = h("details", { class: "holders", hidden: true, ontoggle: () => this.open() }, this.words, this.list);
  }

  show(words, id) {
    this.id = id;
    this.element.hidden = !words;
    if (words === this.words.textContent) return;
    setText(this.words, words);
    this.load();
  }

  async open() {
    await this.load();
    if (this.element.open) this.element.scrollIntoView({ block: "nearest" });
  }

  async load() {
    if (!this.element.open || this.element.hidden) return;
    try {
      const { rows } = await get("/api/receipt", { id: this.id });
      this.list.replaceChildren(...rows.map(holder));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.list.replaceChildren(h("li", { text: `${error.message} ${error.hint}` }));
    }
  }
}

function holder({ author, state, face, since_us: sinceUs }) {
  if (!author) return h("li", {}, h("bdi", { text: line(face, 40) }), ": ", t("A node there seems to have it since {time}.", { time: timeOf(sinceUs) }));
  const words = { has: () => t("It arrived there, confirmed {time}.", { time: timeOf(sinceUs) }), lacks: () => t("It has not arrived there yet, as far as known."), silent: () => t("This node never confirms messages.") };
  return h("li", {}, who(author), ": ", words[state]());
}

/** Returns a name with digits behind it, unless our user gave it. */
export function named(author) {
  const [name, digits] = called(author);
  return [name && h("bdi", { text: name }), name && digits && " ", digits && h("span", { class: "digits", text: digits })].filter(Boolean);
}

/** Returns a name with the digits of the feed, which are unique. */
export function who(author) {
  if (author.own) return h("span", { class: "who", text: t("You") });
  if (!author.name) return h("span", { class: "who digits", text: digits(author.feed) });
  return h("span", { class: "who" }, h("bdi", { text: line(author.name, 40) }), " ", h("span", { class: "digits", text: digits(author.feed) }));
}
