// The map and the list of nodes: who is where, how the batteries are, and when each was heard.

import { ApiError, get } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { MapDrawing } from "/static/drawing.js";
import { parts, t, tn } from "/static/language.js";
import { distance, way, wind } from "/static/mercator.js";
import { who } from "/static/message.js";
import { person } from "/static/person.js";
import { PositionForm } from "/static/position.js";
import { agoOf, decimal, line, nameOf, number } from "/static/words.js";

const EVERY_MS = 30_000;
const POWERED = 101; // percent of a battery that is powered from outside
const OLD = 0.5; // of its validity

export class MapView {
  /** `position` reads, previews, shares and stops the user's position, if the node does not. */
  constructor({ position } = {}) {
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.drawing = new MapDrawing();
    this.drawing.element.hidden = true;
    this.position = new PositionForm({ done: () => this.refresh(), position });
    this.offer = () => { this.position.element.hidden = person.guest && !person.canWrite; };
    person.addEventListener("change", this.offer);
    this.offer();
    this.list = h("ul", { class: "cards" });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("Map") }), this.about, this.drawing.element, this.position.element, h("h2", { text: t("Nodes") }), this.list);
    this.timer = setInterval(() => { if (!document.hidden) this.refresh(); }, EVERY_MS);
  }

  close() {
    clearInterval(this.timer);
    person.removeEventListener("change", this.offer);
  }

  async refresh() {
    try {
      const [places, ground] = await Promise.all([get("/api/places"), get("/api/map")]);
      this.lay(ground.map);
      this.draw(places);
      this.position.refresh();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, `${error.message} ${error.hint}`);
    }
  }

  /** Draws on the node's map file, and anew only if it is another one. */
  lay(map) {
    if (map?.version === this.version) return;
    this.version = map?.version;
    this.drawing.lay(map);
  }

  draw({ now_us: nowUs, rows, all }) {
    const placed = rows.filter((row) => row.position);
    this.drawing.element.hidden = !placed.length;
    this.drawing.show(placed.map((row) => ({ author: row.author, position: row.position, old: isOld(row.position, nowUs) })));
    const none = t("Nobody shares a position.");
    setText(this.about, placed.length ? `${tn(placed.length, "{n} position", "{n} positions")} ${tn(all, "of {n} node", "of {n} nodes")}. ${t("Positions are what people share; they may be coarse.")}` : none);
    const here = placed.find((row) => row.author.own)?.position;
    this.list.replaceChildren(...rows.map((row) => this.card(row, here, nowUs)));
  }

  card(row, here, nowUs) {
    const { author, position, sensors } = row;
    const heard = row.heard_us === null ? t("never") : author.own ? null : ago(row.heard_us, nowUs);
    const facts = [
      ...(position ? placeFacts(position, author.own ? null : here, nowUs) : []),
      ...(sensors ? sensorFacts(sensors, nowUs) : []),
      ...(heard ? [[t("Last entry"), heard]] : []),
    ];
    const show = position && h("button", { type: "button", class: "plain", onclick: () => this.drawing.centreOn(position) }, ...parts(t("Show{name} on the map"), { name: h("span", { class: "unseen" }, " ", h("bdi", { text: nameOf(author) })) }));
    return h("li", { class: "card" }, h("h3", {}, who(author)), h("dl", { class: "facts" }, ...facts.flatMap(([term, value]) => [h("dt", { text: term }), h("dd", {}, value)])), show);
  }
}

const ago = (us, nowUs) => agoOf(nowUs - us);

function isOld({ time_us: timeUs, expires_us: expiresUs }, nowUs) {
  return expiresUs !== null && nowUs - timeUs > OLD * (expiresUs - timeUs);
}

function placeFacts(position, here, nowUs) {
  const around = position.radius_m === null ? "" : ` ±${distance(position.radius_m)}`;
  const moving = position.speed_m_s === null ? null : `${decimal(3.6 * position.speed_m_s, 1)} km/h${position.course_degrees === null ? "" : ` ${wind(position.course_degrees)}`}`;
  const rows = [[t("Position"), `${position.latitude.toFixed(5)}, ${position.longitude.toFixed(5)}${around}, ${ago(position.time_us, nowUs)}${position.grouped ? `, ${t("for a group")}` : ""}`]];
  if (here) {
    const { metres, course } = way(here, position);
    rows.push([t("From you"), `${distance(metres)} ${wind(course)}`]);
  }
  if (position.altitude_m !== null) rows.push([t("Altitude"), `${number.format(position.altitude_m)} m`]);
  if (moving) rows.push([t("Speed"), moving]);
  return rows;
}

function sensorFacts(sensors, nowUs) {
  const volts = sensors.voltage_v === null ? null : `${decimal(sensors.voltage_v, 2)} V`;
  const percent = sensors.battery_percent === null ? null : sensors.battery_percent === POWERED ? t("powered from outside") : `${sensors.battery_percent} %`;
  const air = [
    sensors.temperature_c === null ? null : `${decimal(sensors.temperature_c, 1)} °C`,
    sensors.humidity_percent === null ? null : t("{n} % humidity", { n: sensors.humidity_percent }),
    sensors.pressure_hpa === null ? null : `${decimal(sensors.pressure_hpa, 1)} hPa`,
  ];
  const joined = (parts) => parts.filter(Boolean).join(", ");
  return [
    [t("Status"), sensors.status && h("bdi", { text: line(sensors.status, 60) })],
    [t("Battery"), joined([percent, volts])],
    [t("Solar"), sensors.solar_w === null ? null : `${decimal(sensors.solar_w, 1)} W`],
    [t("Weather"), joined(air)],
    [t("Hardware"), sensors.hardware && h("bdi", { text: line(sensors.hardware, 40) })],
    [t("Version"), sensors.version && h("bdi", { text: line(sensors.version, 40) })],
    [t("Measured"), ago(sensors.time_us, nowUs)],
  ].filter(([, value]) => value);
}
