// Charts of numbers that sensors publish: a line for each series, its values in words.

import { ApiError, get } from "/static/api.js";
import { h } from "/static/dom.js";
import { parts, t, tn } from "/static/language.js";
import { named } from "/static/message.js";
import { curve } from "/static/plot.js";
import { agoOf, duration, line, number } from "/static/words.js";

const EVERY_MS = 60_000;

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
    points.length > 1 && curve(points, low, high),
  );
}
