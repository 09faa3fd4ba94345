// The view of a guest's own identity: make it, restore it from 24 words, name it, see what waits.

import { ApiError } from "/static/api.js";
import { languageChoice } from "/static/choice.js";
import { h, setText } from "/static/dom.js";
import { seedOf, wordsOf } from "/static/entries.js";
import { t, tn } from "/static/language.js";
import { person } from "/static/person.js";
import { line } from "/static/words.js";

const NAME_MAX = 40;

async function wordList() {
  const answer = await fetch("/words.txt");
  if (!answer.ok) throw new ApiError("lost", t("The list of words cannot be loaded."), t("Try again."));
  return (await answer.text()).trim().split("\n");
}

export class YouView {
  constructor() {
    this.about = h("p", { class: "soft" });
    this.status = h("p", { role: "status" });
    this.body = h("div", { class: "cards" });
    this.words = null; // of a new key, until they were written down
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("You") }), this.about, this.status, this.body, languageChoice());
    this.draw = this.draw.bind(this);
    person.addEventListener("change", this.draw);
    this.draw();
  }

  close() {
    person.removeEventListener("change", this.draw);
  }

  refresh() {
    person.sync();
  }

  draw() {
    const state = JSON.stringify([person.possible, person.me?.feed, person.me?.name, person.trouble, this.words]);
    setText(this.about, this.words || !person.me ? t("You write here as yourself, with a key that stays on this phone. The node passes on what you sign, and cannot write as you.") : "");
    if (state !== this.drawn) {
      this.drawn = state;
      this.body.replaceChildren(...this.parts());
    }
    this.drawFacts();
  }

  parts() {
    if (!person.possible) return [this.impossible()];
    if (this.words) return [this.shown()];
    if (!person.me) return [this.making(), this.restoring()];
    return [person.trouble && this.troubled(), this.mine(), this.leaving()].filter(Boolean);
  }

  impossible() {
    const words = window.isSecureContext ? t("This browser cannot sign with Ed25519, so you can read, and not write. Newer ones can: Chrome 137, Firefox 129, Safari 17.") : t("Browsers keep keys for pages over HTTPS only, and this one came over HTTP: you can read, and not write. Your host can switch HTTPS on.");
    return h("p", { class: "notice", text: words });
  }

  making() {
    const name = h("input", { id: "name", name: "name", required: true, maxlength: String(NAME_MAX), autocomplete: "nickname" });
    return this.form(t("Your name"), [h("label", { for: "name", text: t("Name; everyone in the mesh can read it") }), name], t("Begin"), async () => {
      const seed = crypto.getRandomValues(new Uint8Array(32));
      const list = await wordList();
      await person.create(seed, name.value.trim());
      this.words = await wordsOf(seed, list);
      seed.fill(0);
      this.draw();
    });
  }

  restoring() {
    const box = h("textarea", { id: "words", name: "words", rows: "4", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
    return this.form(t("You were here before"), [h("label", { for: "words", text: t("Your 24 words") }), box], t("Restore"), async () => {
      const seed = await seedOf(box.value, await wordList());
      if (!seed) throw new ApiError("words", t("These are not 24 words of a key."), t("Check each of them."));
      box.value = "";
      await person.restore(seed);
      seed.fill(0);
    });
  }

  shown() {
    return h(
      "section",
      { class: "card cards", "aria-label": t("Your 24 words") },
      h("h2", { text: t("Write these words down, on paper") }),
      h("p", { text: t("They are your key: with them you go on writing on another phone, and so does whoever reads them. They are shown this once.") }),
      h("ol", { class: "wordlist" }, this.words.map((word) => h("li", { text: word }))),
      h("div", {}, h("button", { type: "button", class: "button", text: t("I wrote them down"), onclick: () => {
        this.words = null;
        this.draw();
        this.element.querySelector("h1").focus();
      } })),
    );
  }

  troubled() {
    const restored = person.trouble === "restored";
    const text = restored ? tn(person.node.seq, "This node has {n} entry of yours. If you wrote more elsewhere, wait until the node has them: a second entry with the same number would end your feed for ever.", "This node has {n} entries of yours. If you wrote more elsewhere, wait until the node has them: a second entry with the same number would end your feed for ever.") : t("The node has entries of yours that this phone did not write. Is your key on another phone, too? Write on one of them only: two entries with the same number end your feed for ever. What waits here is then not sent.");
    return h("section", { class: "card cards", "aria-label": t("Before you write") }, h("h2", { text: restored ? t("Is this all that you wrote?") : t("Somebody writes with your key") }), h("p", { text }), h("div", {}, h("button", { type: "button", class: "button quiet", text: restored ? t("Yes, write here") : t("Write here only"), onclick: () => this.attempt(() => person.goOn()) })));
  }

  mine() {
    this.facts = h("p", { class: "soft" });
    const name = h("input", { id: "name", name: "name", required: true, maxlength: String(NAME_MAX), value: person.me.name, autocomplete: "nickname" });
    const form = this.form(t("Your name"), [h("label", { for: "name", text: t("Name; everyone in the mesh can read it") }), name], t("Publish it"), () => person.rename(name.value.trim()));
    if (!person.canWrite) form.hidden = true;
    return h("div", { class: "cards" }, h("section", { class: "card", "aria-label": t("Your feed") }, h("h2", {}, h("bdi", { text: line(person.me.name, NAME_MAX) || t("Your feed") })), this.facts, h("details", {}, h("summary", { text: t("Feed id") }), h("code", { text: person.me.feed }))), form);
  }

  drawFacts() {
    if (!this.facts || !person.me) return;
    const waiting = person.me.waiting.length;
    const left = person.node ? ` ${tn(person.node.left, "The node takes {n} packet more of you in this hour.", "The node takes {n} packets more of you in this hour.")}` : "";
    setText(this.facts, `${tn(person.me.seq ?? 0, "{n} entry", "{n} entries")}${waiting ? `, ${tn(waiting, "of which {n} waits on this phone", "of which {n} wait on this phone")}` : ""}.${left}${person.problem ? ` ${person.problem}` : ""}`);
  }

  leaving() {
    return this.form(t("Leave this phone"), [h("p", { text: t("Deletes your key here. Without your 24 words nobody can write as you any more; what you wrote stays.") }), h("label", { class: "pick" }, h("input", { type: "checkbox", required: true }), h("span", { text: t("I have my 24 words, or give this identity up") }))], t("Delete my key"), () => person.forget(), "button quiet");
  }

  form(title, parts, yes, work, kind = "button") {
    const form = h("form", { class: "card", "aria-label": title }, h("h2", { text: title }), ...parts, h("div", {}, h("button", { class: kind, text: yes })));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.attempt(work);
    });
    return form;
  }

  async attempt(work) {
    if (this.working) return;
    this.working = true;
    this.status.className = "";
    setText(this.status, "");
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.status.className = "failed";
      setText(this.status, `${error.message} ${error.hint}`);
    } finally {
      this.working = false;
    }
  }
}
