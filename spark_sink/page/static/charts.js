// Chart libraries, loaded when the first chart needs one, in the colours of the theme, and pictures of the drawings.

import { h, setText } from "./dom.js";
import { clock, dayOf, dayTime, short } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const VENDOR = new URL("./vendor/", import.meta.url);
const UPLOT = "uplot-1.6.32/uplot";
const ECHARTS = "echarts-6.1.0/echarts.js";
const LEAFLET = "leaflet-1.9.4/leaflet";
const DAY_S = 86_400;
const SERIES = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6", "--s7", "--s8"];
const STEPS = ["--b0", "--b1", "--b2", "--b3", "--b4", "--b5"];

/** Value of a CSS variable, as the theme has it now. */
export const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The theme's colours: {ink, soft, line, card, accent, warn, bad, good, series: [8], steps: [6, little to much], stepInks}. */
export function colours() {
  const named = Object.fromEntries(["ink", "soft", "line", "line-strong", "card", "sunk", "accent", "accent-soft", "warn", "bad", "good"].map((name) => [name.replace(/-(\w)/, (_, c) => c.toUpperCase()), cssColour(`--${name}`)]));
  return { ...named, series: SERIES.map(cssColour), steps: STEPS.map(cssColour), stepInks: STEPS.map((name) => cssColour(`${name}-ink`)), dark: document.documentElement.dataset.theme === "dark" };
}

/** Calls `draw` whenever the theme changes; returns what ends that. */
export function onTheme(draw) {
  const watcher = new MutationObserver(draw);
  watcher.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => watcher.disconnect();
}

const sheets = new Map();

function sheet(path) {
  if (!sheets.has(path)) {
    sheets.set(path, new Promise((resolve, reject) => {
      document.head.append(h("link", { rel: "stylesheet", href: new URL(path, VENDOR).href, onload: resolve, onerror: reject }));
    }));
  }
  return sheets.get(path);
}

async function uplot() {
  const [module] = await Promise.all([import(`${VENDOR}${UPLOT}.js`), sheet(`${UPLOT}.css`)]);
  return module.default;
}

/** ECharts with bar, custom, graph, heat map, line and scatter series; see vendor.py. */
export const echarts = () => import(`${VENDOR}${ECHARTS}`);

/** Leaflet with its style sheet. */
export async function leaflet() {
  const [module] = await Promise.all([import(`${VENDOR}${LEAFLET}.js`), sheet(`${LEAFLET}.css`)]);
  return module;
}

/** Saves a canvas as PNG, on the card's ground, with `title` above it. */
export function savePng(canvas, name, title) {
  const { ink, card } = colours();
  const ratio = canvas.width / (canvas.clientWidth || canvas.width);
  const top = Math.round(34 * ratio);
  const edge = Math.round(12 * ratio);
  const whole = document.createElement("canvas");
  whole.width = canvas.width + 2 * edge;
  whole.height = canvas.height + top + edge;
  const pen = whole.getContext("2d");
  pen.fillStyle = card;
  pen.fillRect(0, 0, whole.width, whole.height);
  pen.fillStyle = ink;
  pen.font = `600 ${Math.round(14 * ratio)}px system-ui, sans-serif`;
  pen.fillText(title, edge, Math.round(22 * ratio), whole.width - 2 * edge);
  pen.drawImage(canvas, edge, top);
  whole.toBlob((blob) => {
    const link = h("a", { href: URL.createObjectURL(blob), download: `${name}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}

/** A button that saves what `canvas()` gives as `name`.png under `title()`. */
export function pngButton(canvas, name, title) {
  const save = () => {
    const drawn = canvas();
    if (drawn) savePng(drawn, name, title());
  };
  return h("button", { type: "button", class: "tool", title: "This picture as PNG", text: "PNG", onclick: save });
}

function timeLabels(_plot, splits, _axis, _space, stepS) {
  let day = null;
  return splits.map((at) => {
    const date = new Date(at * 1000);
    const today = date.toDateString();
    const fresh = today !== day;
    day = today;
    const name = dayOf(date);
    if (stepS >= DAY_S) return name;
    return fresh ? `${clock(at * 1e6, stepS < 60)}\n${name}` : clock(at * 1e6, stepS < 60);
  });
}

/**
 * Lines over time (uPlot), in a `.chart` element. Takes
 *   label     what a screen reader says of it;  empty  what is said when there is nothing to draw
 *   series    [{label, colour?: "--s1", fill?: true, steps?: true, dash?: [4, 4], width?: 2}]
 *   value(n)  a value with its unit, for the tip;  axis(n)  for the axis (default: short numbers)
 *   onrange(fromUs, toUs)?  a stretch was chosen by dragging;  top?  smallest upper end of the axis
 * Gives {set([t_us…], [values…]…), canvas(), close()}. Arrow keys move the cursor once the chart has the focus.
 */
export class LineChart {
  constructor(target, settings) {
    Object.assign(this, { target, settings, plot: null, data: null, library: null, closed: false });
    target.setAttribute("role", "img");
    target.setAttribute("aria-label", settings.label);
    target.tabIndex = 0;
    this.none = h("p", { class: "nothing", text: settings.empty ?? "Nothing to draw yet.", hidden: true });
    target.append(this.none);
    this.unwatch = onTheme(() => this.rebuild());
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(target);
    target.addEventListener("keydown", (event) => this.key(event));
    target.addEventListener("blur", () => this.leave());
  }

  /** Times in microseconds, then the values of each series (null: unknown). */
  async set(timesUs, ...values) {
    this.data = [timesUs.map((us) => us / 1e6), ...values];
    this.none.hidden = timesUs.length > 1;
    this.target.classList.toggle("without", timesUs.length < 2);
    if (timesUs.length < 2) {
      this.drop();
      return;
    }
    if (this.library === null) this.library = await uplot();
    if (this.closed) return;
    if (this.plot) this.plot.setData(this.data);
    else this.build();
  }

  build() {
    const { clientWidth: width, clientHeight: height } = this.target;
    if (!this.data || this.data[0].length < 2 || width === 0 || this.closed) return;
    this.plot = new this.library(this.options(width, height), this.data, this.target);
  }

  options(width, height) {
    const { soft, line } = colours();
    const { series, axis = short, top = 1, onrange } = this.settings;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const font = `${Math.round(rem * 0.8)}px system-ui, sans-serif`;
    const look = { stroke: soft, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    return {
      width,
      height,
      legend: { show: false },
      cursor: { drag: { x: Boolean(onrange), y: false, setScale: false }, points: { size: 8 } },
      scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(top, (high ?? 0) * 1.08)] } },
      axes: [
        { ...look, values: timeLabels, space: rem * 5.2, size: rem * 2.7 },
        { ...look, values: (_plot, splits) => splits.map((n) => (Number.isInteger(n) || top < 1 || axis !== short ? axis(n) : "")), size: rem * 3.6 },
      ],
      series: [{}, ...series.map((one, index) => this.line(one, index))],
      hooks: {
        setCursor: [(plot) => this.tell(plot)],
        setSelect: [(plot) => this.chosen(plot)],
      },
    };
  }

  line(one, index) {
    const colour = cssColour(one.colour ?? SERIES[index % SERIES.length]);
    return {
      label: one.label,
      stroke: colour,
      fill: one.fill ? `${colour}22` : undefined,
      width: one.width ?? 2,
      dash: one.dash,
      points: { show: false },
      spanGaps: false,
      paths: one.steps ? this.library.paths.stepped({ align: 1 }) : undefined,
    };
  }

  tell(plot) {
    const index = plot.cursor.idx;
    if (index === null || index === undefined || plot.cursor.left < 0) {
      hideTip();
      return;
    }
    const { series, value } = this.settings;
    const at = this.data[0][index];
    const lines = series.map((one, n) => [one, this.data[n + 1][index]]).filter(([, v]) => v !== null && v !== undefined)
      .map(([one, v]) => (series.length > 1 ? `${one.label}: ${value(v)}` : value(v)));
    const box = plot.over.getBoundingClientRect();
    showTip([dayTime(at * 1e6), ...lines].join("\n"), box.left + plot.valToPos(at, "x"), box.top + Math.max(0, plot.cursor.top - 14));
    setText(this.live(), `${dayTime(at * 1e6)}, ${lines.join(", ")}`);
  }

  live() {
    this.spoken ??= this.target.parentElement.appendChild(h("p", { class: "unseen", "aria-live": "polite" }));
    return this.spoken;
  }

  chosen(plot) {
    const { left, width } = plot.select;
    if (width < 6 || !this.settings.onrange) return;
    const us = (x) => Math.round(plot.posToVal(x, "x") * 1e6);
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.settings.onrange(us(left), us(left + width));
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (!this.plot || (step === undefined && event.key !== "Escape")) return;
    event.preventDefault();
    if (step === undefined) {
      this.leave();
      return;
    }
    const last = this.data[0].length - 1;
    const next = Math.max(0, Math.min(last, (this.at ?? last + (step > 0 ? -1 : 1)) + step));
    this.at = next;
    const value = this.data.slice(1).map((one) => one[next]).find((one) => one !== null && one !== undefined) ?? 0;
    this.plot.setCursor({ left: this.plot.valToPos(this.data[0][next], "x"), top: this.plot.valToPos(value, "y") });
  }

  leave() {
    this.at = null;
    this.plot?.setCursor({ left: -10, top: -10 });
    hideTip();
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.target;
    if (width === 0 || !this.library) return;
    if (!this.plot) this.build();
    else if (this.plot.width !== width || this.plot.height !== height) this.plot.setSize({ width, height });
  }

  rebuild() {
    if (!this.plot) return;
    this.drop();
    this.build();
  }

  drop() {
    this.plot?.destroy();
    this.plot = null;
  }

  canvas() {
    return this.plot?.ctx.canvas ?? null;
  }

  close() {
    this.closed = true;
    this.unwatch();
    this.sizes.disconnect();
    this.drop();
    hideTip();
  }
}

/**
 * A drawing of ECharts in a `.chart` element. `option(colours)` gives the option and is asked again at each `draw()` and
 * change of theme; tooltips are drawn on the canvas, since markup of theirs would need inline styles.
 *   label: what a screen reader says;  onclick(params)?;  merge: whether `draw` keeps what is not named (default: no)
 */
export class EChart {
  constructor(target, settings) {
    Object.assign(this, { target, settings, chart: null, closed: false });
    target.setAttribute("role", "img");
    target.setAttribute("aria-label", settings.label);
    this.unwatch = onTheme(() => this.draw());
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(target);
  }

  async draw() {
    if (!this.chart) {
      this.loading ??= echarts();
      const { init } = await this.loading;
      if (this.closed || this.chart) return;
      this.chart = init(this.target, null, { renderer: "canvas" });
      if (this.settings.onclick) this.chart.on("click", this.settings.onclick);
    }
    const theme = colours();
    this.chart.setOption(this.base(theme), { notMerge: !this.settings.merge });
    this.chart.setOption(this.settings.option(theme), { lazyUpdate: false });
  }

  base({ ink, card, line }) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return {
      animation: false,
      textStyle: { fontFamily: "system-ui, sans-serif", fontSize: Math.round(rem * 0.8), color: ink },
      tooltip: { renderMode: "richText", confine: true, backgroundColor: card, borderColor: line, textStyle: { color: ink, fontSize: Math.round(rem * 0.82) } },
    };
  }

  fit() {
    if (this.chart && this.target.clientWidth) this.chart.resize();
  }

  canvas() {
    return this.chart?.getRenderedCanvas?.({ pixelRatio: window.devicePixelRatio || 1 }) ?? this.target.querySelector("canvas");
  }

  close() {
    this.closed = true;
    this.unwatch();
    this.sizes.disconnect();
    this.chart?.dispose();
    this.chart = null;
  }
}

/** Axis words in the theme's colours, for ECharts options: spread into an axis. */
export function axisLook({ soft, line, lineStrong }) {
  return { axisLine: { lineStyle: { color: lineStrong } }, axisTick: { show: false }, axisLabel: { color: soft }, splitLine: { lineStyle: { color: line } }, nameTextStyle: { color: soft } };
}
