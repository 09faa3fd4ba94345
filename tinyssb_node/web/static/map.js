// The map and the list of nodes: who is where, how the batteries are, and when each was heard.

import { ApiError, get } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { MapDrawing } from "/static/drawing.js";
import { distance, way, wind } from "/static/mercator.js";
import { who } from "/static/message.js";
import { count, duration, line, nameOf } from "/static/words.js";

const EVERY_MS = 30_000;
const POWERED = 101; // percent of a battery that is powered from outside
const OLD = 0.5; // of its validity

export class MapView {
  constructor() {
    this.about = h("p", { class: "soft", role: "status", text: "Loading…" });
    this.drawing = new MapDrawing();
    this.drawing.element.hidden = true;
    this.list = h("ul", { class: "cards" });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: "Map" }), this.about, this.drawing.element, h("h2", { text: "Nodes" }), this.list);
    this.timer = setInterval(() => { if (!document.hidden) this.refresh(); }, EVERY_MS);
  }

  close() {
    clearInterval(this.timer);
  }

  async refresh() {
    try {
      this.draw(await get("/api/places"));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, `${error.message} ${error.hint}`);
    }
  }

  draw({ now_us: nowUs, rows, all }) {
    const placed = rows.filter((row) => row.position);
    this.drawing.element.hidden = !placed.length;
    this.drawing.show(placed.map((row) => ({ author: row.author, position: row.position, old: isOld(row.position, nowUs) })));
    const none = "Nobody shares a position. On the node, tinyssb position share publishes yours.";
    setText(this.about, placed.length ? `${count(placed.length, "position")} of ${count(all, "node")}. Positions are what people share; they may be coarse.` : none);
    const here = placed.find((row) => row.author.own)?.position;
    this.list.replaceChildren(...rows.map((row) => this.card(row, here, nowUs)));
  }

  card(row, here, nowUs) {
    const { author, position, sensors } = row;
    const heard = row.heard_us === null ? "never" : author.own ? null : `${ago(row.heard_us, nowUs)}`;
    const facts = [
      ...(position ? placeFacts(position, author.own ? null : here, nowUs) : []),
      ...(sensors ? sensorFacts(sensors, nowUs) : []),
      ...(heard ? [["Last entry", heard]] : []),
    ];
    const show = position && h("button", { type: "button", class: "plain", onclick: () => this.drawing.centreOn(position) }, "Show", h("span", { class: "unseen" }, " ", h("bdi", { text: nameOf(author) })), " on the map");
    return h("li", { class: "card" }, h("h3", {}, who(author)), h("dl", { class: "facts" }, ...facts.flatMap(([term, value]) => [h("dt", { text: term }), h("dd", {}, value)])), show);
  }
}

const ago = (us, nowUs) => `${duration(Math.max(0, nowUs - us))} ago`;

function isOld({ time_us: timeUs, expires_us: expiresUs }, nowUs) {
  return expiresUs !== null && nowUs - timeUs > OLD * (expiresUs - timeUs);
}

function placeFacts(position, here, nowUs) {
  const around = position.radius_m === null ? "" : ` ±${distance(position.radius_m)}`;
  const moving = position.speed_m_s === null ? null : `${(3.6 * position.speed_m_s).toFixed(1)} km/h${position.course_degrees === null ? "" : ` ${wind(position.course_degrees)}`}`;
  const rows = [["Position", `${position.latitude.toFixed(5)}, ${position.longitude.toFixed(5)}${around}, ${ago(position.time_us, nowUs)}${position.grouped ? ", for a group" : ""}`]];
  if (here) {
    const { metres, course } = way(here, position);
    rows.push(["From you", `${distance(metres)} ${wind(course)}`]);
  }
  if (position.altitude_m !== null) rows.push(["Altitude", `${position.altitude_m.toLocaleString()} m`]);
  if (moving) rows.push(["Speed", moving]);
  return rows;
}

function sensorFacts(sensors, nowUs) {
  const volts = sensors.voltage_v === null ? null : `${sensors.voltage_v.toFixed(2)} V`;
  const percent = sensors.battery_percent === null ? null : sensors.battery_percent === POWERED ? "powered from outside" : `${sensors.battery_percent} %`;
  const air = [
    sensors.temperature_c === null ? null : `${sensors.temperature_c.toFixed(1)} °C`,
    sensors.humidity_percent === null ? null : `${sensors.humidity_percent} % humidity`,
    sensors.pressure_hpa === null ? null : `${sensors.pressure_hpa.toFixed(1)} hPa`,
  ];
  const joined = (parts) => parts.filter(Boolean).join(", ");
  return [
    ["Status", sensors.status && h("bdi", { text: line(sensors.status, 60) })],
    ["Battery", joined([percent, volts])],
    ["Solar", sensors.solar_w === null ? null : `${sensors.solar_w.toFixed(1)} W`],
    ["Weather", joined(air)],
    ["Version", sensors.version && h("bdi", { text: line(sensors.version, 40) })],
    ["Measured", ago(sensors.time_us, nowUs)],
  ].filter(([, value]) => value);
}
