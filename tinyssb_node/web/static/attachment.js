// A file for everybody, for a private conversation or for a private group: chosen, made to fit a number of packets if it is a picture, and sent after its cost was shown.

import { ApiError, newId, post } from "/static/api.js";
import { announce, h, setText } from "/static/dom.js";
import { toBase64 } from "/static/entries.js";
import { t, tn } from "/static/language.js";
import { person } from "/static/person.js";
import { costOf, line, size } from "/static/words.js";

const NAME_MAX = 64; // bytes
const PACKET = 100; // bytes of a file in a packet
const AROUND = 250; // bytes around a file: its name and type, and what encrypts it
const ATTEMPTS = 3; // at making a picture small enough: only the node knows how many packets it takes
const bytesOf = (text) => new TextEncoder().encode(text).length;

let preferred = null; // packets that were chosen for the last picture

/** Returns the address of requests about a file: there are others for groups. */
const addressOf = ({ group }) => (group ? "/api/group/attach" : "/api/attach");

/** What the node makes and publishes for its user. */
const nodeFiles = {
  sizeMax: 32_000, // bytes that a message to a group carries, and that this page sends to others
  budgets: [20, 40, 80, 160, 320], // packets of a picture
  usual: 160, // of one that is too large: half a minute of air at SF7
  unchanged: 32_000, // bytes of a picture that is sent as it is unless its sender chooses otherwise

  async cost(request) {
    const found = await post(`${addressOf(request)}/cost`, request);
    return { ...found, words: `${costOf(found)}. ${t("This is for sending it once; packets that a peer misses are sent again.")}` };
  },

  send: (request) => post(addressOf(request), { ...request, agreed: true }), // the button was pressed below the cost
};

export class Attachment {
  /** `replyTo()` returns the id of the message that is answered; `sent(answer)` is called when it was published. */
  constructor({ replyTo, sent }) {
    this.replyTo = replyTo;
    this.onSent = sent;
    this.group = null;
    this.conversation = "public";
    this.picture = null; // what was chosen, if it is a picture
    this.round = 0; // of choices: what an earlier one leads to is not shown
    this.input = h("input", { type: "file", hidden: true, "aria-label": t("File"), onchange: () => this.choose(this.input.files[0]) });
    this.pick = h("button", { type: "button", class: "button quiet", hidden: true, text: t("File"), onclick: () => this.input.click() });
    this.title = h("p");
    this.budget = h("select", { id: "packets", onchange: () => this.chooseBudget() });
    this.budgetChoice = h("p", { class: "choice", hidden: true }, h("label", { for: "packets", text: t("Size of the picture") }), " ", this.budget);
    this.preview = h("canvas", { class: "preview", role: "img", "aria-label": t("The picture as it is sent"), hidden: true });
    this.cost = h("p", { role: "status" });
    this.sendButton = h("button", { type: "button", class: "button", onclick: () => this.send() });
    this.panel = h(
      "div",
      { class: "asked", hidden: true, role: "group", "aria-label": t("File to send") },
      this.title,
      this.preview,
      this.budgetChoice,
      this.cost,
      h("span", { class: "buttons" }, this.sendButton, h("button", { type: "button", class: "button quiet", text: t("Not now"), onclick: () => this.clear() })),
    );
  }

  /** Offers the choice of a file, in a group or another conversation; null: nowhere. */
  offer(place, isGroup) {
    this.group = isGroup ? place : null;
    this.conversation = place;
    this.pick.hidden = place === null;
  }

  /** Returns the place of the file, as requests name it. */
  get place() {
    return this.group === null ? { conversation: this.conversation } : { group: this.group };
  }

  async choose(file) {
    if (!file) return;
    this.clear();
    this.file = file;
    this.panel.hidden = false;
    setText(this.title, line(file.name));
    try {
      this.files ??= person.guest ? (await import("/static/guestfile.js")).guestFiles : nodeFiles;
    } catch {
      this.fail(t("The page’s server does not answer."));
      return;
    }
    const picture = file.type.startsWith("image/") ? await this.read(file) : null;
    if (this.file !== file) return;
    this.picture = picture;
    if (picture) this.offerBudgets();
    await this.prepare();
    if (this.file === file && !this.sendButton.hidden) this.sendButton.focus();
  }

  /** Returns the picture in a file; null if it is none that this browser can read. */
  async read(file) {
    try {
      this.pictures ??= await import("/static/picture.js");
    } catch {
      return null; // without the node: then nothing is sent either
    }
    return this.pictures.readPicture(file);
  }

  offerBudgets() {
    const { sizeMax, usual } = this.files;
    const unchanged = this.file.size <= sizeMax;
    const budgets = this.files.budgets.map((packets) => h("option", { value: packets, text: tn(packets, "At most {n} packet", "At most {n} packets") }));
    this.budget.replaceChildren(...(unchanged ? [h("option", { value: "", text: t("Unchanged, with all that the camera wrote into it") })] : []), ...budgets);
    const fits = this.file.size <= (preferred === null ? this.files.unchanged : Math.min(bytesFor(preferred), sizeMax));
    this.budget.value = fits ? "" : String(preferred ?? usual);
    this.budgetChoice.hidden = false;
  }

  chooseBudget() {
    preferred = this.budget.value ? Number(this.budget.value) : null;
    this.prepare();
  }

  /** Makes the file that is sent, and shows it with its cost. */
  async prepare() {
    this.round += 1;
    const { round } = this;
    this.request = null;
    this.sendButton.hidden = true;
    this.cost.className = "";
    setText(this.cost, this.picture ? t("The picture is made to fit…") : "");
    try {
      const made = await this.make(round);
      if (round !== this.round || !made) return;
      this.request = made.request;
      await this.show(made);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (round === this.round) this.fail(`${error.message} ${error.hint}`);
    }
  }

  /** Returns what is sent, with its cost; null if another choice was made meanwhile. Throws ApiError. */
  async make(round) {
    const { file, picture } = this;
    const budget = picture && this.budget.value ? Number(this.budget.value) : null;
    if (budget === null) return this.priced({ blob: file, name: cut(file.name) });
    let bytes = Math.min(bytesFor(budget), this.files.sizeMax);
    for (let attempt = 1; round === this.round; attempt += 1) {
      const made = await this.pictures.fit(picture, bytes);
      if (!made) throw new ApiError("size", t("The picture does not fit."), t("Choose more packets."));
      const found = await this.priced({ ...made, name: renamed(file.name, made.blob.type) });
      if (found.cost.packets <= budget || attempt === ATTEMPTS) return found;
      bytes -= (found.cost.packets - budget) * PACKET;
    }
    return null;
  }

  /** Returns a file with its request and its cost. Throws ApiError. */
  async priced(made) {
    const { sizeMax } = this.files;
    if (made.blob.size > sizeMax) throw new ApiError("size", t("It has {size}; a message carries {most}.", { size: size(made.blob.size), most: size(sizeMax) }));
    const request = { ...this.place, name: made.name, type: made.blob.type.slice(0, 40), data: toBase64(new Uint8Array(await made.blob.arrayBuffer())), once: newId() };
    return { ...made, request, cost: await this.files.cost(request) };
  }

  async show({ blob, name, width, height, cost }) {
    setText(this.title, `${line(name)}, ${size(blob.size)}${width ? `, ${t("{width} × {height} pixels", { width, height })}` : ""}`);
    if (this.picture) await this.showPicture(blob);
    setText(this.cost, `${this.conversation === "public" ? `${t("Everyone in the mesh can read it.")} ` : ""}${cost.words}`);
    setText(this.sendButton, cost.costly ? tn(cost.packets, "Send {n} packet", "Send all {n} packets") : t("Send file"));
    this.sendButton.hidden = false;
  }

  /** Draws the picture as its readers will see it; a canvas needs no address that the page's policy would have to allow. */
  async showPicture(blob) {
    const { round } = this;
    const picture = await this.pictures.readPicture(blob);
    if (!picture || round !== this.round) return;
    Object.assign(this.preview, { width: picture.width, height: picture.height });
    this.preview.getContext("2d").drawImage(picture, 0, 0);
    picture.close();
    this.preview.hidden = false;
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    try {
      const answer = await this.files.send({ ...this.request, ...(this.group && { reply_to: this.replyTo() }) });
      this.clear();
      announce(answer.waits ? t("Signed. The message waits on this device.") : tn(answer.packets, "Sent: {n} packet.", "Sent: {n} packets."));
      this.onSent(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.fail(`${t("Not sent.")} ${error.message} ${error.hint}`);
    } finally {
      this.sending = false;
    }
  }

  fail(text) {
    this.cost.className = "failed";
    setText(this.cost, text);
  }

  clear() {
    this.round += 1;
    this.picture = this.file = this.request = null;
    this.panel.hidden = this.sendButton.hidden = this.budgetChoice.hidden = this.preview.hidden = true;
    this.cost.className = "";
    setText(this.cost, "");
    this.input.value = ""; // so that the same file can be chosen again
  }
}

const bytesFor = (packets) => packets * PACKET - AROUND;

/** Returns the name of a picture that is written as another type. */
function renamed(name, type) {
  const ending = `.${type.split("/")[1]}`;
  return cut(name.replace(/\.[^.]*$/, ""), NAME_MAX - ending.length) + ending;
}

/** Returns the beginning of a name that fits into the format. */
function cut(name, most = NAME_MAX) {
  const letters = [...name];
  while (bytesOf(letters.join("")) > most) letters.pop();
  return letters.join("");
}
