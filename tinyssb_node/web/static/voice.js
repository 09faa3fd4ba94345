// Sound: what plays it, and what a microphone records, as the phone app's voice messages need it.

import { h } from "/static/dom.js";
import { toBase64 } from "/static/entries.js";

const RATE = 8_000; // samples a second

/** Returns what plays a sound. */
export function playerOf(sound, label) {
  return h("audio", { controls: true, src: URL.createObjectURL(sound), "aria-label": label });
}

/** Records until `stop` of what it returns is called. Throws DOMException: without a microphone, or if it may not be used. */
export async function record() {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const recorder = new MediaRecorder(stream);
  const pieces = [];
  recorder.addEventListener("dataavailable", (event) => pieces.push(event.data));
  const ended = new Promise((done) => recorder.addEventListener("stop", done, { once: true }));
  recorder.start();
  return {
    async stop() {
      if (recorder.state !== "inactive") recorder.stop();
      for (const track of stream.getTracks()) track.stop(); // the browser shows that nobody listens any more
      await ended;
      return new Blob(pieces, { type: recorder.mimeType });
    },
  };
}

/** Returns a recording as 16-bit samples in base64. Throws DOMException if this browser cannot read it. */
export async function samplesOf(recorded) {
  const context = new AudioContext();
  const sound = await context.decodeAudioData(await recorded.arrayBuffer()).finally(() => context.close());
  const slow = new OfflineAudioContext(1, Math.max(1, Math.round(sound.duration * RATE)), RATE);
  const source = new AudioBufferSourceNode(slow, { buffer: sound });
  source.connect(slow.destination);
  source.start();
  const floats = (await slow.startRendering()).getChannelData(0);
  const view = new DataView(new ArrayBuffer(2 * floats.length));
  floats.forEach((value, at) => view.setInt16(2 * at, Math.round(Math.max(-1, Math.min(1, value)) * 32_767), true));
  return toBase64(new Uint8Array(view.buffer));
}
