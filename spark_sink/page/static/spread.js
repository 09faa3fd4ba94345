// Delays over time: a column for each stretch of time, a band for each half doubling of the delay, the more copies the
// stronger. Drawn by ECharts, which is loaded when the figure first comes into sight, and not redrawn while out of it.

import { colours, echarts } from "./charts.js";
import { h } from "./dom.js";
import { dayTime, many, span } from "./format.js";
import { delayAt, place } from "./histogram.js";

const BANDS = 2; // to a doubling
const LABELS_MAX = 14; // of the bands
const EMPTY = "Delays of one period only: nothing to compare yet.";

/**
 * {begins, lows, cells} of rows [from_us, low_us, high_us, n]: when columns begin and where bands do, neither with a gap;
 * cells are [column, band, n, how strong].
 */
export function grid(rows, stepUs) {
  if (!rows.length) return { begins: [], lows: [], cells: [] };
  const bandOf = (us) => Math.round(BANDS * place(us));
  const [first, last] = extremes(rows.map(([from]) => from));
  const [lowest, highest] = extremes(rows.map(([, low]) => bandOf(low)));
  const begins = Array.from({ length: Math.round((last - first) / stepUs) + 1 }, (_one, at) => first + at * stepUs);
  const lows = Array.from({ length: highest - lowest + 2 }, (_one, at) => delayAt((lowest + at) / BANDS));
  const counts = new Map();
  for (const [from, low, , n] of rows) {
    const cell = `${Math.round((from - first) / stepUs)} ${bandOf(low) - lowest}`;
    counts.set(cell, (counts.get(cell) ?? 0) + n);
  }
  return { begins, lows, cells: [...counts].map(([cell, n]) => [...cell.split(" ").map(Number), n, Math.log(1 + n)]) };
}

const extremes = (values) => values.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, -Infinity]);

export class Spread {
  constructor(target) {
    Object.assign(this, { target, chart: null, data: null, stale: false, seen: false, closed: false });
    target.setAttribute("role", "img");
    this.box = h("div", { class: "spread-canvas" });
    this.none = h("p", { class: "nothing", text: EMPTY, hidden: true });
    target.append(this.box, this.none);
    this.sight = new IntersectionObserver((all) => this.sighted(all.at(-1).isIntersecting));
    this.sight.observe(target);
    this.sizes = new ResizeObserver(() => this.chart?.resize());
    this.sizes.observe(target);
  }

  /** Shows these rows as the server gives them. */
  set(rows, stepUs, what) {
    this.data = { ...grid(rows, stepUs), stepUs };
    const { begins, cells } = this.data;
    this.none.hidden = begins.length > 1;
    this.box.hidden = begins.length < 2;
    const all = cells.reduce((sum, [, , n]) => sum + n, 0);
    this.target.setAttribute("aria-label", begins.length ? `${what}, from ${dayTime(begins[0])} on, ${span(stepUs)} at a time: ${many(all, "copy", "copies")}` : EMPTY);
    this.redraw();
  }

  sighted(seen) {
    this.seen = seen;
    if (!seen || this.stale) this.redraw();
  }

  redraw() {
    this.stale = !this.seen;
    const some = this.data?.begins.length > 1;
    this.target.classList.toggle("without", this.stale || !some);
    if (this.seen && some) this.draw();
  }

  async draw() {
    const library = await echarts();
    if (this.closed) return;
    this.chart ??= library.init(this.box, null, { renderer: "canvas" });
    this.chart.resize();
    this.chart.setOption(this.option(), { notMerge: true });
  }

  option() {
    const { begins, lows, cells, stepUs } = this.data;
    const { ink, soft, line, card, steps } = colours();
    const axis = { axisLine: { lineStyle: { color: line } }, axisTick: { show: false }, axisLabel: { color: soft, fontFamily: "system-ui", hideOverlap: true }, splitArea: { show: false } };
    const words = ([x, y, n]) => `${dayTime(begins[x])}, ${span(stepUs)}\n${span(lows[y])} to ${span(lows[y + 1])}: ${many(n, "copy", "copies")}`;
    const every = Math.ceil(lows.length / LABELS_MAX);
    return {
      animation: false,
      grid: { left: 84, right: 12, top: 10, bottom: 28 },
      // As text on the canvas: otherwise it would add elements to the page with styles that the page's policy forbids.
      tooltip: { renderMode: "richText", formatter: ({ value }) => words(value), backgroundColor: card, borderColor: line, textStyle: { color: ink } },
      xAxis: { type: "category", data: begins.map(dayTime), ...axis },
      yAxis: { type: "category", data: lows.slice(0, -1).map((low) => `≥ ${span(low)}`), ...axis, axisLabel: { ...axis.axisLabel, interval: (at) => at % every === 0 } },
      visualMap: { show: false, dimension: 3, min: 0, max: extremes(cells.map(([, , , strong]) => strong))[1], inRange: { color: steps.slice(1) } },
      series: [{ type: "heatmap", data: cells, itemStyle: { borderColor: card, borderWidth: 1 }, emphasis: { itemStyle: { borderColor: ink } } }],
    };
  }

  /** A canvas to be saved as a picture; null where nothing is drawn. */
  canvas() {
    return this.chart && !this.box.hidden ? this.chart.renderToCanvas({ pixelRatio: window.devicePixelRatio || 1 }) : null;
  }

  close() {
    this.closed = true;
    this.sight.disconnect();
    this.sizes.disconnect();
    this.chart?.dispose();
  }
}
