// Delays as a histogram on a logarithmic axis, drawn as SVG. The same scale serves the large figure and small rows.

import { s } from "./dom.js";
import { count, many, percent, span } from "./format.js";

const MILLISECOND_US = 1e3;
const TICKS_US = [10e3, 100e3, 1e6, 10e6, 60e6, 600e6, 3_600e6, 6 * 3_600e6, 86_400e6, 604_800e6];
const TICK_ROOM_PX = 62;
const BIN_PX = 9;
const ROOM = { left: 46, right: 12, top: 42, bottom: 26 };

const round = (n) => Math.round(n * 10) / 10;

/** Where a delay lies on a logarithmic axis that begins at 0: log₂(1 + delay / 1 ms), as the buckets do. */
export const place = (us) => Math.log2(1 + Math.max(0, us) / MILLISECOND_US);

/** First and last place that all of these lists of [low_us, high_us, n] need, a bit wider than they are. */
export function extent(lists) {
  let [low, high] = [Infinity, -Infinity];
  for (const buckets of lists) {
    for (const [from, to] of buckets) {
      low = Math.min(low, place(from));
      high = Math.max(high, place(to));
    }
  }
  return low < high ? [Math.max(0, low - 0.5), high + 0.5] : [0, 12];
}

/** Counts in `bins` equal stretches of the axis; a bucket that lies in several is shared out by length. */
export function rebin(buckets, [low, high], bins) {
  const counts = new Float64Array(bins);
  const width = (high - low) / bins;
  for (const [from, to, n] of buckets) {
    const [a, b] = [(place(from) - low) / width, (place(to) - low) / width];
    const last = Math.min(bins - 1, Math.ceil(b) - 1);
    if (b - a < 1e-9) {
      counts[Math.max(0, Math.min(bins - 1, Math.floor(a)))] += n;
      continue;
    }
    for (let bin = Math.max(0, Math.floor(a)); bin <= last; bin += 1) {
      counts[bin] += (n * (Math.min(b, bin + 1) - Math.max(a, bin))) / (b - a);
    }
  }
  return counts;
}

/** The delay at a place of the axis. */
export const delayAt = (at) => (2 ** at - 1) * MILLISECOND_US;

function bars(counts, most, width, height, left, top) {
  const step = width / counts.length;
  const shapes = [...counts].map((n, bin) => {
    if (n <= 0) return "";
    const tall = Math.max(1.5, (n / most) * height);
    return `M${round(left + bin * step + 0.5)} ${round(top + height)}v${round(-tall)}h${round(Math.max(1, step - 1))}v${round(tall)}z`;
  });
  return s("path", { class: "bars", d: shapes.join("") });
}

function ticks(axis, width) {
  const scale = (us) => ((place(us) - axis[0]) / (axis[1] - axis[0])) * width;
  let free = 0;
  return TICKS_US.filter((us) => {
    const at = scale(us);
    if (at < free || at < 8 || at > width - 8) return false;
    free = at + TICK_ROOM_PX;
    return true;
  }).map((us) => [us, scale(us)]);
}

const tickWords = (us) => span(us).replace(".0 s", " s");

/** A round number that is not below `most`, and into how many whole parts its axis falls. */
function ceiling(most) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const [digit, pieces] = [[1, unit > 1 ? 2 : 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 3], [8, 4], [10, 2]].find(([n]) => n * unit >= most);
  return { top: digit * unit, pieces };
}

/** The large figure: bars, axis, median and 95th percentile marked. `data`: {n, median_us, p95_us, buckets}. */
export function histogram(width, height, data, axis, what) {
  const [inner, tall] = [width - ROOM.left - ROOM.right, height - ROOM.top - ROOM.bottom];
  const counts = rebin(data.buckets, axis, Math.max(10, Math.floor(inner / BIN_PX)));
  const { top, pieces } = ceiling(Math.max(...counts, 1));
  const x = (us) => round(ROOM.left + ((place(us) - axis[0]) / (axis[1] - axis[0])) * inner);
  const base = ROOM.top + tall;
  const lines = Array.from({ length: pieces + 1 }, (_one, at) => {
    const y = round(base - (at / pieces) * tall);
    return s("g", {}, s("line", { class: at ? "grid" : "grid base", x1: ROOM.left, x2: width - ROOM.right, y1: y, y2: y }),
      s("text", { x: ROOM.left - 8, y: y + 4, "text-anchor": "end", text: count((at / pieces) * top) }));
  });
  const marks = [["median", data.median_us], ["p95", data.p95_us]].filter(([, us]) => us !== null);
  const label = `${what}: ${many(data.n, "copy", "copies")}${marks.map(([name, us]) => `, ${name} ${span(us)}`).join("")}`;
  return s("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...lines,
    bars(counts, top, inner, tall, ROOM.left, ROOM.top),
    ...ticks(axis, inner).map(([us, at]) => s("text", { x: round(ROOM.left + at), y: height - 6, "text-anchor": "middle", text: tickWords(us) })),
    ...marks.map(([name, us], index) => {
      const side = x(us) > width - 110;
      return s("g", { class: `mark-line ${name}` },
        s("line", { x1: x(us), x2: x(us), y1: ROOM.top - (index ? 12 : 28), y2: base }),
        s("text", { x: x(us) + (side ? -5 : 5), y: ROOM.top - (index ? 5 : 21), "text-anchor": side ? "end" : "start", text: `${name} ${span(us)}` }));
    }));
}

/** One row of a table: bars on the axis all rows share, median and p95 as ticks. Its words stand beside it. */
export function small(width, height, data, axis) {
  const counts = rebin(data.buckets, axis, Math.max(10, Math.floor(width / 4)));
  const x = (us) => round(((place(us) - axis[0]) / (axis[1] - axis[0])) * width);
  const marks = [["median", data.median_us], ["p95", data.p95_us]].filter(([, us]) => us !== null);
  return s("svg", { class: "histogram small", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    bars(counts, Math.max(...counts, 1e-9), width, height - 1, 0, 0),
    ...marks.map(([name, us]) => s("line", { class: `mark-line ${name}`, x1: x(us), x2: x(us), y1: 0, y2: height })));
}

/** What a stretch of the figure holds, in words, for a place from 0 to 1 across it. */
export function under(share, data, axis) {
  const at = axis[0] + share * (axis[1] - axis[0]);
  const us = delayAt(at);
  const within = data.buckets.reduce((sum, [low, high, n]) => sum + (high <= us ? n : low >= us ? 0 : (n * (us - low)) / Math.max(1, high - low)), 0);
  return `${percent(data.n ? within / data.n : 0)} within ${span(us)}`;
}

/** Share of the figure's width at a point of the window, from 0 to 1. */
export function shareAt(box, clientX) {
  return Math.max(0, Math.min(1, (clientX - box.left - ROOM.left) / (box.width - ROOM.left - ROOM.right)));
}
