// Bars made of parts, and gauges with a limit: lengths repeat what is also written as numbers.

import { h, setText } from "./dom.js";

const NARROWEST = "2px";

/** Sets a length in per cent; the page's policy forbids style attributes, not this. */
export function long(element, share) {
  const width = `${(Math.max(0, Math.min(1, share)) * 100).toFixed(2)}%`;
  if (element.style.width !== width) element.style.width = width;
  return element;
}

/** `parts` [{class, share, title}…], shares of the whole width; parts of nothing are left out. */
export function stack(parts, label) {
  const shown = parts.filter((part) => part.share > 0).map((part) => {
    const bar = long(h("i", { class: `part ${part.class}`, title: part.title }), part.share);
    bar.style.minWidth = NARROWEST;
    return bar;
  });
  return h("div", { class: "stack", role: "img", "aria-label": label }, ...shown);
}

/**
 * A gauge: how full the fullest window was and how full the last one is, against what the law allows.
 * All three in the same unit; the scale ends a bit beyond the largest of them.
 */
export class Gauge {
  constructor() {
    this.now = h("i", { class: "gauge-now" });
    this.most = h("i", { class: "gauge-most" });
    this.limit = h("i", { class: "gauge-limit" });
    this.element = h("div", { class: "gauge", role: "img" }, this.now, this.most, this.limit);
  }

  update({ now, most, limit, label }) {
    const end = Math.max(limit ?? 0, most, now, 1) * (limit && most <= limit ? 1.12 : 1.04);
    long(this.now, now / end);
    this.most.style.left = `${((most / end) * 100).toFixed(2)}%`;
    this.limit.hidden = limit === null;
    if (limit !== null) this.limit.style.left = `${((limit / end) * 100).toFixed(2)}%`;
    const share = limit ? Math.max(now, most) / limit : 0;
    this.element.dataset.level = share > 1 ? "over" : share > 0.8 ? "near" : "well";
    if (this.element.getAttribute("aria-label") !== label) this.element.setAttribute("aria-label", label);
  }
}

/** A legend whose numbers change in place: entries [[class, text]…]. */
export function legend(target, entries) {
  if (target.children.length !== entries.length) {
    target.replaceChildren(...entries.map(([name]) => h("span", { class: "key" }, h("i", { class: `swatch ${name}` }), h("span"))));
  }
  entries.forEach(([name, text], at) => {
    const [swatch, words] = target.children[at].children;
    if (swatch.className !== `swatch ${name}`) swatch.className = `swatch ${name}`;
    setText(words, text);
  });
}
