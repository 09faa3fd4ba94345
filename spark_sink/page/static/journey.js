// One message's way through the mesh, drawn on a time axis: a line for each node, a dot where the message came,
// an arrow from its sender, a tick for each transmission.

import { s } from "./dom.js";
import { clock, many, span } from "./format.js";

const ROW_PX = 30;
const TOP_PX = 30;
const BOTTOM_PX = 12;
const TICK_ROOM_PX = 66;
const NAME_PX = 8.4; // a letter, about
const STEPS_US = [1e3, 10e3, 100e3, 1e6, 5e6, 10e6, 30e6, 60e6, 300e6, 600e6, 1800e6, 3_600e6, 3 * 3_600e6, 6 * 3_600e6, 12 * 3_600e6, 86_400e6, 2 * 86_400e6, 7 * 86_400e6, 30 * 86_400e6];
const TWO_SCALES = 40; // the longest delay is so many times the shortest: a logarithmic axis shows both

/** Most lines that are drawn: beyond, the earliest and the latest are. All are in the table. */
export const ROWS_MAX = 60;

const round = (n) => Math.round(n * 10) / 10;
const shorten = (name, letters) => (name.length > letters ? `${name.slice(0, Math.max(1, letters - 1))}…` : name);

/** Whether delays are so different that a linear axis would squeeze the short ones together. */
export function wantsLog(arrivals) {
  const delays = arrivals.map((one) => one.delay_us).filter((us) => us > 0);
  return delays.length > 1 && Math.max(...delays) / Math.min(...delays) > TWO_SCALES;
}

/** A function from microseconds since publication to pixels, with the ticks that fit. */
export function scale(arrivals, transmissions, t0, left, right, log) {
  const times = [...arrivals.flatMap((one) => [one.t_us, one.whole_us]), ...transmissions.map((one) => one.t_us)]
    .filter((us) => us !== null && us !== undefined).map((us) => us - t0);
  const most = Math.max(1e6, ...times) * 1.03;
  const shortest = Math.min(most, ...times.filter((us) => us > 0));
  const unit = Math.max(1e3, shortest / 2);
  const share = log ? (us) => Math.log1p(us / unit) / Math.log1p(most / unit) : (us) => us / most;
  const x = (us) => left + share(Math.max(0, us)) * (right - left);
  return { x, ticks: log ? logTicks(x, most, right) : linearTicks(x, most, right - left) };
}

function logTicks(x, most, right) {
  let free = x(0) + TICK_ROOM_PX / 2;
  return [0, ...STEPS_US.filter((us) => {
    if (us > most || x(us) < free || x(us) > right - 12) return false;
    free = x(us) + TICK_ROOM_PX;
    return true;
  })];
}

function linearTicks(x, most, width) {
  const wanted = Math.max(2, Math.floor(width / (TICK_ROOM_PX * 1.4)));
  const step = STEPS_US.find((us) => most / us <= wanted) ?? most / wanted;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_one, at) => at * step);
}

/** Start of the axis: publication; if no log has it, the first arrival. */
export const startOf = ({ entry, arrivals }) => entry.t_us ?? arrivals.reduce((first, one) => Math.min(first, one.t_us), Infinity);

/** Who has a line: the publisher first, the others as it came to them, then those it did not come to. */
export function lines(journey) {
  const came = [...journey.arrivals].sort((a, b) => a.t_us - b.t_us || (a.node < b.node ? -1 : 1));
  const all = [...came, ...journey.missing.map((one) => ({ ...one, missing: true }))];
  if (all.length <= ROWS_MAX) return { rows: all, left: 0 };
  const half = ROWS_MAX / 2;
  return { rows: [...all.slice(0, half), ...all.slice(-half)], left: all.length - ROWS_MAX };
}

function describe(one, journey) {
  if (one.missing) return `${one.label} does not have it yet`;
  if (one.origin === "own") return `${one.label} published it at ${clock(one.t_us)}`;
  const whole = journey.entry.chunks && one.whole_us ? `, whole ${span(one.whole_us - startOf(journey))} after publication` : journey.entry.chunks ? ", side chain not complete yet" : "";
  const from = one.from_label ? ` from ${one.from_label}${one.hop_us === null ? "" : `, ${span(one.hop_us)} after ${one.from_label} had it`}` : "";
  return `${one.label} received it ${span(one.t_us - startOf(journey))} after publication${from}${one.face ? `, by ${one.face}` : ""}${whole}`;
}

function axis(drawn, height, right, beginning) {
  return drawn.ticks.map((us) => {
    const x = round(drawn.x(us));
    const anchor = x > right - 24 ? "end" : us === 0 ? "start" : "middle";
    return s("g", { class: "grid" }, s("line", { x1: x, x2: x, y1: TOP_PX - 8, y2: height - BOTTOM_PX }),
      s("text", { x, y: 12, "text-anchor": anchor, text: us === 0 ? beginning : `+${span(us).replace(".0 s", " s")}` }));
  });
}

function rowOf(one, y, drawn, journey, left, right, letters) {
  const t0 = startOf(journey);
  const at = one.missing ? null : round(drawn.x(one.t_us - t0));
  const whole = !one.missing && journey.entry.chunks && one.whole_us ? round(drawn.x(one.whole_us - t0)) : null;
  const words = describe(one, journey);
  return s("g", { class: `row${one.missing ? " missing" : ""}`, "data-tip": words },
    s("text", { class: "name", x: left - 12, y: y + 4, "text-anchor": "end", text: shorten(one.label, letters) }),
    s("line", { class: "lane", x1: one.missing ? left : at, x2: right, y1: y, y2: y }),
    whole !== null && whole > at ? s("line", { class: "collecting", x1: at, x2: whole, y1: y, y2: y }) : null,
    at === null ? s("circle", { class: "not-yet", cx: right - 5, cy: y, r: 4.5 }) : s("circle", { class: one.origin === "own" ? "came own" : "came", cx: at, cy: y, r: 5.5 }),
    whole !== null && whole > at ? s("rect", { class: "whole", x: whole - 5, y: y - 5, width: 10, height: 10, rx: 1.5 }) : null);
}

/** From the sender's line down (or up) to the dot, bent so that arrows to neighbouring lines stay apart. */
function hop(one, places, drawn, t0) {
  const [from, to] = [places.get(one.from), places.get(one.node)];
  if (from === undefined || to === undefined) return null;
  const x = round(drawn.x(one.t_us - t0));
  const way = to > from ? 1 : -1;
  const bow = Math.min(18, 4 + Math.abs(to - from) / 8);
  return s("path", { class: "hop", "marker-end": "url(#hop-head)", "data-node": one.node, d: `M${x} ${from}C${x - bow} ${from + way * bow} ${x - bow} ${to - way * bow} ${x - 1} ${to - way * 7}` });
}

function tick(one, y, drawn, t0, label) {
  const x = round(drawn.x(one.t_us - t0));
  const gave = one.new_at.length;
  const words = `${label} sent it ${span(one.t_us - t0)} after publication: heard by ${many(one.heard_by.length, "node")}, new to ${gave}`;
  return s("g", { class: `sent${gave ? " gave" : ""}`, "data-tip": words },
    s("line", { x1: x, x2: x, y1: y - (gave ? 9 : 6), y2: y + (gave ? 9 : 6) }),
    s("rect", { class: "touch", x: x - 4, y: y - 10, width: 8, height: 20 }));
}

/** The drawing, as wide as asked; its height follows from how many nodes there are. */
export function draw(journey, width, log) {
  const { rows } = lines(journey);
  const longest = Math.max(...rows.map((one) => one.label.length), 4);
  const letters = Math.min(longest, width < 560 ? 9 : 22);
  const left = 20 + letters * NAME_PX;
  const right = width - 12;
  const height = TOP_PX + rows.length * ROW_PX + BOTTOM_PX;
  const t0 = startOf(journey);
  const drawn = scale(journey.arrivals, journey.transmissions, t0, left + 8, right - 8, log);
  const places = new Map(rows.map((one, at) => [one.node, TOP_PX + (at + 0.5) * ROW_PX]));
  const label = new Map(rows.map((one) => [one.node, one.label]));
  const words = rows.slice(0, ROWS_MAX).map((one) => describe(one, journey)).join(". ");
  return s("svg", { class: "journey", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words },
    s("defs", {}, s("marker", { id: "hop-head", viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 .5 7.5 4 0 7.5z" }))),
    ...axis(drawn, height, right, journey.entry.t_us === null ? "first seen" : "published"),
    ...rows.map((one) => rowOf(one, places.get(one.node), drawn, journey, left, right, letters)),
    ...journey.transmissions.filter((one) => places.has(one.node)).map((one) => tick(one, places.get(one.node), drawn, t0, label.get(one.node))),
    ...journey.arrivals.filter((one) => one.from).map((one) => hop(one, places, drawn, t0)));
}
