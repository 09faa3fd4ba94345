// Missing copies over time: a step line with its area, drawn to the size of its box.

import { s } from "./dom.js";
import { clock, count, many, span } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const MARGIN = { top: 14, right: 14, bottom: 26, left: 40 };
const TIME_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
const VALUE_TICKS = 4;
const PIXELS_PER_TIME_TICK = 84;

/** Whole-number ticks from 0 to just above `most`. */
function valueTicks(most) {
  const rough = Math.max(most, 1) / VALUE_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough));
  const ticks = [];
  for (let value = 0; value < most + step; value += step) ticks.push(value);
  return ticks;
}

function timeTicks(fromUs, toUs, width) {
  const wanted = Math.max(2, Math.floor(width / PIXELS_PER_TIME_TICK));
  const rangeS = (toUs - fromUs) / 1e6;
  const stepUs = 1e6 * (TIME_STEPS_S.find((step) => rangeS / step <= wanted) ?? Math.ceil(rangeS / wanted));
  // Ticks sit on round local times, also where the time zone is not a whole number of hours off.
  const shiftUs = new Date(fromUs / 1000).getTimezoneOffset() * 60e6;
  const ticks = [];
  for (let at = Math.ceil((fromUs - shiftUs) / stepUs) * stepUs + shiftUs; at <= toUs; at += stepUs) ticks.push(at);
  return { ticks, withSeconds: stepUs < 60e6 };
}

function stepPath(points, x, y) {
  const parts = [`M${x(points[0].t_us)} ${y(points[0].missing)}`];
  for (const point of points.slice(1)) parts.push(`H${x(point.t_us)}V${y(point.missing)}`);
  return parts.join("");
}

export class Convergence {
  constructor(target, summary) {
    this.target = target;
    this.summary = summary;
    this.points = [];
    this.chosen = null;
    new ResizeObserver(() => this.draw()).observe(target);
    target.addEventListener("pointermove", (event) => this.point(event.clientX - target.getBoundingClientRect().left));
    target.addEventListener("pointerleave", () => this.choose(null));
    target.addEventListener("blur", () => this.choose(null));
    target.addEventListener("keydown", (event) => this.key(event));
  }

  update(points) {
    this.points = points;
    this.choose(null);
    const most = Math.max(0, ...points.map((point) => point.missing));
    const now = points.length ? points[points.length - 1].missing : 0;
    this.summary.textContent = points.length < 2 ? "" : this.sentence(most, now);
    this.draw();
  }

  sentence(most, now) {
    const period = `in the last ${span(this.points[this.points.length - 1].t_us - this.points[0].t_us)}`;
    if (most === 0) return `Nothing missing ${period}.`;
    const state = now === 0 ? "Nothing missing now" : `${many(now, "copy", "copies")} missing now`;
    return `${state}; at most ${count(most)} ${period}.`;
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.target;
    if (this.points.length < 2 || width === 0) {
      this.target.replaceChildren();
      return;
    }
    const first = this.points[0].t_us;
    const last = this.points[this.points.length - 1].t_us;
    const values = valueTicks(Math.max(...this.points.map((point) => point.missing)));
    const top = values[values.length - 1];
    const round = (n) => Math.round(n * 10) / 10;
    this.x = (us) => round(MARGIN.left + ((us - first) / (last - first)) * (width - MARGIN.left - MARGIN.right));
    this.y = (value) => round(height - MARGIN.bottom - (value / top) * (height - MARGIN.top - MARGIN.bottom));
    const end = this.points[this.points.length - 1];
    const line = stepPath(this.points, this.x, this.y);
    this.cursor = s("g", { class: "cursor", visibility: "hidden" }, s("line", { y1: MARGIN.top, y2: height - MARGIN.bottom }), s("circle", { r: 4 }));
    this.target.replaceChildren(
      s(
        "svg",
        { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
        this.grid(values, width),
        this.axis(first, last, width, height),
        s("path", { class: "area", d: `${line}V${this.y(0)}H${this.x(first)}Z` }),
        s("path", { class: "line", d: line }),
        s("circle", { class: "end", cx: this.x(last), cy: this.y(end.missing), r: 4 }),
        this.cursor,
      ),
    );
  }

  grid(values, width) {
    return s(
      "g",
      { class: "grid-lines" },
      ...values.flatMap((value) => [
        s("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: this.y(value), y2: this.y(value), class: value === 0 ? "base" : "" }),
        s("text", { x: MARGIN.left - 10, y: this.y(value) + 4, "text-anchor": "end", text: count(value) }),
      ]),
    );
  }

  axis(first, last, width, height) {
    const { ticks, withSeconds } = timeTicks(first, last, width - MARGIN.left - MARGIN.right);
    const inside = ticks.filter((at) => this.x(at) > MARGIN.left + 12 && this.x(at) < width - 24);
    return s(
      "g",
      { class: "axis" },
      ...inside.map((at) => s("text", { x: this.x(at), y: height - 6, "text-anchor": "middle", text: clock(at, withSeconds) })),
    );
  }

  point(pixels) {
    if (!this.cursor || this.points.length < 2) return;
    let index = this.points.findIndex((point) => this.x(point.t_us) > pixels);
    index = index === -1 ? this.points.length - 1 : Math.max(0, index - 1);
    this.choose(index);
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || this.points.length < 2) return;
    event.preventDefault();
    const from = this.chosen ?? this.points.length - 1;
    this.choose(Math.min(this.points.length - 1, Math.max(0, from + move)));
  }

  choose(index) {
    const from = this.chosen;
    this.chosen = index;
    if (this.cursor) this.cursor.setAttribute("visibility", index === null ? "hidden" : "visible");
    if (index === null) {
      if (from !== null) hideTip();
      return;
    }
    const { t_us, missing } = this.points[index];
    const [line, dot] = this.cursor.children;
    line.setAttribute("x1", this.x(t_us));
    line.setAttribute("x2", this.x(t_us));
    dot.setAttribute("cx", this.x(t_us));
    dot.setAttribute("cy", this.y(missing));
    const box = this.target.getBoundingClientRect();
    showTip(`${clock(t_us)} · ${many(missing, "copy", "copies")} missing`, box.left + this.x(t_us), box.top + this.y(missing) - 12);
  }
}
