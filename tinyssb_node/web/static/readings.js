// Charts of numbers that sensors publish: a line for each series, its values in words.

import { ApiError, get } from "/static/api.js";
import { h } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { named } from "/static/message.js";
import { agoOf, duration, line, number } from "/static/words.js";

const EVERY_MS = 60_000;
const WIDTH = 600; // units of the drawing, which is as wide as its card
const HEIGHT = 120;
const MARGIN = 6;

export class Readings {
  constructor() {
    this.list = h("ul", { class: "cards" });
    this.element = h("section", { class: "cards", hidden: true, "aria-label": t("Readings") }, h("h2", { text: t("Readings") }), this.list);
    this.askedMs = -Infinity;
  }

  /** Shows the latest values, once a minute. */
  async refresh() {
    if (performance.now() - this.askedMs < EVERY_MS) return;
    this.askedMs = performance.now();
    try {
      const { series } = await get("/api/readings");
      this.element.hidden = !series.length;
      this.list.replaceChildren(...series.map(card));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // the node's state, above, says what is wrong
    }
  }
}

function card({ author, label, points }) {
  const values = points.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [lastUs, last] = points[points.length - 1];
  const spanUs = lastUs - points[0][0];
  const ago = agoOf(Date.now() * 1_000 - lastUs);
  const range = points.length > 1 ? `; ${tn(points.length, "{n} value within {time}, from {low} to {high}", "{n} values within {time}, from {low} to {high}", { time: duration(spanUs), low: number.format(low), high: number.format(high) })}` : "";
  return h(
    "li",
    { class: "card" },
    h("h3", {}, ...parts(t("{value} of {author}"), { value: h("bdi", { text: line(label, 60) || t("Number") }), author: named(author) })),
    h("p", { text: `${t("{value}, arrived {ago}", { value: number.format(last), ago })}${range}` }),
    points.length > 1 && chart(points, low, high),
  );
}

/** Returns the line of a series, which the words above say for those who cannot see it. */
function chart(points, low, high) {
  const [firstUs, lastUs] = [points[0][0], points[points.length - 1][0]];
  const x = (us) => MARGIN + ((WIDTH - 2 * MARGIN) * (us - firstUs)) / (lastUs - firstUs || 1);
  const y = (value) => HEIGHT - MARGIN - ((HEIGHT - 2 * MARGIN) * (value - low)) / (high - low || 1);
  const kind = document.querySelector(".brand svg").namespaceURI;
  const drawing = document.createElementNS(kind, "svg");
  const path = document.createElementNS(kind, "polyline");
  path.setAttribute("points", points.map(([us, value]) => `${x(us).toFixed(1)},${y(value).toFixed(1)}`).join(" "));
  path.setAttribute("vector-effect", "non-scaling-stroke");
  drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("class", "chart");
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(path);
  return drawing;
}
