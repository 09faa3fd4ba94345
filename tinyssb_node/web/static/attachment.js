// A file for everybody, for a private conversation or for a private group: chosen, made smaller if it is a large picture, and sent after its cost was shown.

import { ApiError, post } from "/static/api.js";
import { announce, h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { costOf, line, size } from "/static/words.js";

const FILE_MAX = 32_000; // bytes that a message to a group carries, and that this page sends to others
const PICTURE_MAX = 16_000; // of a picture that was made smaller: 162 packets, half a minute of air at SF7
const SIDES = [640, 480, 360, 240]; // pixels, tried in turn
const NAME_MAX = 64; // bytes
const bytesOf = (text) => new TextEncoder().encode(text).length;

export class Attachment {
  /** `replyTo()` returns the id of the message that is answered; `sent(answer)` is called when it was published. */
  constructor({ replyTo, sent }) {
    this.replyTo = replyTo;
    this.onSent = sent;
    this.group = null;
    this.conversation = "public";
    this.input = h("input", { type: "file", hidden: true, "aria-label": t("File"), onchange: () => this.choose(this.input.files[0]) });
    this.pick = h("button", { type: "button", class: "button quiet", hidden: true, text: t("File"), onclick: () => this.input.click() });
    this.title = h("p");
    this.cost = h("p", { role: "status" });
    this.sendButton = h("button", { type: "button", class: "button", onclick: () => this.send() });
    this.panel = h(
      "div",
      { class: "asked", hidden: true, role: "group", "aria-label": t("File to send") },
      this.title,
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

  /** Returns the address of the requests: there are others for groups. */
  get address() {
    return this.group === null ? "/api/attach" : "/api/group/attach";
  }

  async choose(file) {
    if (!file) return;
    this.clear();
    this.panel.hidden = false;
    setText(this.title, line(file.name));
    try {
      const made = await smaller(file);
      if (made.blob.size > FILE_MAX) {
        this.fail(t("It has {size}; a message carries {most}.", { size: size(made.blob.size), most: size(FILE_MAX) }));
        return;
      }
      this.request = { ...this.place, name: made.name, type: made.blob.type.slice(0, 40), data: await base64(made.blob), once: crypto.getRandomValues(new Uint32Array(4)).join("-") };
      setText(this.title, `${line(made.name)}, ${size(made.blob.size)}${made.side ? `, ${t("made smaller: at most {n} pixels a side", { n: made.side })}` : ""}`);
      const found = await post(`${this.address}/cost`, this.request);
      setText(this.cost, `${this.conversation === "public" ? `${t("Everyone in the mesh can read it.")} ` : ""}${costOf(found)}. ${t("This is for sending it once; packets that a peer misses are sent again.")}`);
      setText(this.sendButton, found.costly ? tn(found.packets, "Send {n} packet", "Send all {n} packets") : t("Send file"));
      this.sendButton.hidden = false;
      this.sendButton.focus();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.fail(`${error.message} ${error.hint}`);
    }
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    try {
      // The button was pressed below the cost.
      const answer = await post(this.address, { ...this.request, ...(this.group && { reply_to: this.replyTo() }), agreed: true });
      this.clear();
      announce(tn(answer.packets, "Sent: {n} packet.", "Sent: {n} packets."));
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
    this.panel.hidden = true;
    this.sendButton.hidden = true;
    this.cost.className = "";
    setText(this.cost, "");
    this.request = null;
    this.input.value = ""; // so that the same file can be chosen again
  }
}

/** Returns the file, or a picture that is too large as a smaller one, without the place where it was taken. */
async function smaller(file) {
  const name = cut(file.name);
  if (file.size <= FILE_MAX || !file.type.startsWith("image/")) return { blob: file, name };
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    return { blob: file, name }; // no picture that this browser can read
  }
  let made = { blob: file, name };
  for (const side of SIDES) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = h("canvas", { width: Math.max(1, Math.round(picture.width * scale)), height: Math.max(1, Math.round(picture.height * scale)) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/webp", 0.6));
    if (!blob) break;
    const ending = blob.type === "image/webp" ? ".webp" : ".png"; // Safari writes no WebP
    made = { blob, name: cut(name.replace(/\.[^.]*$/, ""), NAME_MAX - ending.length) + ending, side };
    if (blob.size <= PICTURE_MAX) break;
  }
  picture.close();
  return made;
}

/** Returns the beginning of a name that fits into the format. */
function cut(name, most = NAME_MAX) {
  const letters = [...name];
  while (bytesOf(letters.join("")) > most) letters.pop();
  return letters.join("");
}

async function base64(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
