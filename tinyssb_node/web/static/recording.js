// A voice message: recorded with this device's microphone, heard as it will sound, and sent after its cost was shown.

import { ApiError, getBytes, newId, post } from "/static/api.js";
import { announce, h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { costOf } from "/static/words.js";

const SECONDS_MAX = 30;
const possible = Boolean(navigator.mediaDevices?.getUserMedia && window.MediaRecorder); // over HTTPS only

export class Recording {
  /** `target()` returns the server's parameters; `sent(answer)` is called when it was published. */
  constructor({ target, sent }) {
    this.target = target;
    this.onSent = sent;
    this.round = 0; // of recordings: what an earlier one leads to is not shown
    this.pick = h("button", { type: "button", class: "button quiet", hidden: true, text: t("Voice"), onclick: () => this.start() });
    this.status = h("p", { role: "status" });
    this.time = h("p", { class: "digits", hidden: true, "aria-hidden": "true" });
    this.heard = h("div");
    this.stopButton = h("button", { type: "button", class: "button", text: t("Stop"), onclick: () => this.stop() });
    this.sendButton = h("button", { type: "button", class: "button", text: t("Send the recording"), onclick: () => this.send() });
    this.panel = h(
      "div",
      { class: "asked", hidden: true, role: "group", "aria-label": t("Voice message") },
      this.status,
      this.time,
      this.heard,
      h("span", { class: "buttons" }, this.stopButton, this.sendButton, h("button", { type: "button", class: "button quiet", text: t("Not now"), onclick: () => this.clear() })),
    );
  }

  offer(offered) {
    this.pick.hidden = !(offered && possible);
  }

  async start() {
    this.clear();
    const { round } = this;
    this.panel.hidden = false;
    this.say(t("Allow this page to use the microphone."));
    try {
      this.voices = await import("/static/voice.js");
      const recorder = await this.voices.record();
      if (round !== this.round) return void recorder.stop();
      this.recorder = recorder;
    } catch (error) {
      if (round !== this.round) return;
      if (error instanceof DOMException) this.fail(t("The browser gives this page no microphone. Check its settings."));
      else this.fail(t("The page’s server does not answer."));
      return;
    }
    this.say(t("Recording. It ends by itself after {n} seconds.", { n: SECONDS_MAX }));
    this.stopButton.hidden = this.time.hidden = false;
    this.stopButton.focus();
    this.begun = performance.now();
    this.clock = setInterval(() => this.tick(), 200);
    this.tick();
  }

  tick() {
    const seconds = (performance.now() - this.begun) / 1_000;
    setText(this.time, `${Math.floor(seconds)} s`);
    if (seconds >= SECONDS_MAX) this.stop();
  }

  async stop() {
    const { round, recorder } = this;
    if (!recorder) return;
    this.recorder = null;
    clearInterval(this.clock);
    this.stopButton.hidden = true;
    this.say(t("The recording is made small…"));
    try {
      const samples = await this.voices.samplesOf(await recorder.stop());
      const most = Math.floor((SECONDS_MAX * 16_000) / 3) * 4;
      const { voice } = await post("/api/voice/record", { voice: samples.slice(0, most) });
      const [cost, sound] = await Promise.all([post("/api/cost", { ...this.target(), text: "", voice, once: "only-asking" }), getBytes("/api/voice/play", { voice })]);
      if (round !== this.round) return;
      this.request = { text: "", voice, once: newId(), agreed: true }; // the button is below the cost
      this.heard.replaceChildren(this.voices.playerOf(sound, t("The recording as it will sound")));
      this.say(`${costOf(cost)}. ${t("This is for sending it once; packets that a peer misses are sent again.")}`);
      this.time.hidden = true;
      this.sendButton.hidden = false;
      this.sendButton.focus();
    } catch (error) {
      if (round !== this.round) return;
      if (error instanceof ApiError) this.fail(`${error.message} ${error.hint}`);
      else if (error instanceof DOMException) this.fail(t("The browser cannot read its own recording."));
      else throw error;
    }
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    this.sendButton.setAttribute("aria-disabled", "true");
    try {
      const answer = await post("/api/say", { ...this.target(), ...this.request });
      this.clear();
      announce(tn(answer.packets, "Sent: {n} packet.", "Sent: {n} packets."));
      this.onSent(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.fail(`${t("Not sent.")} ${error.message} ${error.hint}`);
    } finally {
      this.sending = false;
      this.sendButton.removeAttribute("aria-disabled");
    }
  }

  say(text) {
    this.status.className = "";
    setText(this.status, text);
  }

  fail(text) {
    this.status.className = "failed";
    setText(this.status, text);
  }

  clear() {
    this.round += 1;
    clearInterval(this.clock);
    this.recorder?.stop();
    this.recorder = this.request = null;
    for (const player of this.heard.children) URL.revokeObjectURL(player.src);
    this.heard.replaceChildren();
    this.panel.hidden = this.stopButton.hidden = this.sendButton.hidden = this.time.hidden = true;
    this.say("");
  }
}
