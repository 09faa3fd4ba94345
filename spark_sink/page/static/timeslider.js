// A slider through the time range: how it was at a moment, or (at its end) how it is.

import { h, setText, tool } from "./dom.js";
import { dayTime } from "./format.js";
import { LASTS } from "./range.js";

const MINUTE_US = 60e6;
const STEPS_MAX = 300;
const STEPS_US = [1, 5, 10, 30, 60, 180, 360, 720, 1440].map((minutes) => minutes * MINUTE_US);
const SETTLED_MS = 120;

export class TimeSlider {
  /** `onchoose(at_us | null)`: a moment, or the end of the range. */
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.input = h("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": "Moment in time" });
    this.output = h("output", { class: "slider-time" });
    this.latest = tool("Latest", () => this.choose(null));
    this.element = h("div", { class: "time-slider" }, this.input, this.output, this.latest);
    this.input.addEventListener("input", () => this.moved());
  }

  /** `range` of the address, `latestUs`: newest record; `firstUs`: where a range without a beginning begins. */
  update(range, latestUs, firstUs) {
    const end = range.to ?? latestUs;
    const length = range.last === null ? null : LASTS[range.last];
    const begin = range.from ?? (length ? end - length : Number.isFinite(firstUs) ? Math.min(firstUs, this.begin ?? firstUs) : end - LASTS["24h"]);
    this.stepUs = STEPS_US.find((us) => (end - begin) / us <= STEPS_MAX) ?? STEPS_US.at(-1);
    this.begin = begin;
    this.end = end;
    this.first = Math.ceil(begin / this.stepUs);
    const steps = Math.max(1, Math.floor(end / this.stepUs) - this.first + 1);
    this.input.max = steps;
    if (document.activeElement !== this.input || this.timer === undefined) {
      this.input.value = range.at === null ? steps : Math.min(steps - 1, Math.max(0, Math.round(range.at / this.stepUs) - this.first));
    }
    this.say(range.at);
  }

  say(at) {
    const text = at === null ? `Latest: ${dayTime(this.end)}` : dayTime(at);
    setText(this.output, text);
    this.input.setAttribute("aria-valuetext", text);
    this.latest.hidden = at === null;
  }

  get value() {
    const step = Number(this.input.value);
    return step >= Number(this.input.max) ? null : (this.first + step) * this.stepUs;
  }

  moved() {
    this.say(this.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.onchoose(this.value);
    }, SETTLED_MS);
  }

  choose(at) {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.onchoose(at);
  }

  close() {
    clearTimeout(this.timer);
  }
}
