// Numbers, spans and moments as words. All times arrive in microseconds.

import { h } from "./dom.js";

const MILLISECOND = 1e3;
const SECOND = 1e6;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNKNOWN = "–";

const WHOLE = new Intl.NumberFormat("en");

const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

export const count = (n) => (!known(n) ? UNKNOWN : Number.isInteger(n) && Math.abs(n) < 1_000 ? String(n) : WHOLE.format(n));

/** "1 node", "3 nodes", "2 entries". */
export function many(n, one, more = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : more}`;
}

/** "12.3 k", "4.1 M": for axes and narrow cells. */
export function short(n) {
  if (!known(n)) return UNKNOWN;
  const size = Math.abs(n);
  if (size < 10_000) return WHOLE.format(Math.round(n * 10) / 10);
  return size < 1e6 ? `${figures(n / 1e3)} k` : size < 1e9 ? `${figures(n / 1e6)} M` : `${figures(n / 1e9)} G`;
}

const figures = (n) => n.toFixed(Math.abs(n) < 99.95 ? 1 : 0).replace(".0", "");

/** A span with two figures at most: 120 ms, 0.8 s, 12.3 s, 3 min 12 s, 2 h 5 min, 4 d 3 h. */
export function span(us) {
  if (!known(us)) return UNKNOWN;
  if (us < 0) return `−${span(-us)}`;
  if (us === 0) return "0 s";
  if (us < 0.995 * MILLISECOND) return `${Math.max(1, Math.round(us))} µs`;
  if (us < 0.0995 * SECOND) return `${(us / MILLISECOND).toFixed(us < 9.95 * MILLISECOND ? 1 : 0)} ms`;
  if (us < 0.9995 * SECOND) return `${Math.round(us / MILLISECOND)} ms`;
  if (us < 59.95 * SECOND) return `${(us / SECOND).toFixed(1)} s`;
  if (us < HOUR) return pair(us, MINUTE, "min", SECOND, "s");
  if (us < DAY) return pair(us, HOUR, "h", MINUTE, "min");
  return pair(us, DAY, "d", HOUR, "h");
}

function pair(us, big, bigName, small, smallName) {
  const whole = Math.round(us / small);
  const ratio = big / small;
  const rest = whole % ratio;
  const head = `${WHOLE.format(Math.floor(whole / ratio))} ${bigName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** A span in whole seconds: ages tick, so a decimal would only flicker. */
export function wholeSpan(us) {
  return us < MINUTE ? `${Math.floor(us / SECOND)} s` : span(us);
}

/** "just now", "12 s ago"; the future counts as now. */
export function age(us) {
  return us < 2 * SECOND ? "just now" : `${wholeSpan(us)} ago`;
}

/** Whether so old a record is so far in the future that its clock must be wrong. */
export const isAhead = (us) => us < -MINUTE;

/** The age of a newest record; how far it is ahead if its clock is wrong. */
export function recordAge(us) {
  return isAhead(us) ? `${wholeSpan(-us)} ahead` : age(us);
}

/** A share of one, as per cent with a sensible number of figures. */
export function percent(share) {
  if (!known(share)) return UNKNOWN;
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value < 0.01) return "< 0.01 %";
  if (value < 9.995) return `${value.toFixed(2).replace(/\.?0+$/, "")} %`;
  return `${value.toFixed(value < 99.95 ? 1 : 0)} %`;
}

/** Parts per million (microseconds a second) as per cent: 10,000 is 1 %. */
export const ppm = (value) => (known(value) ? percent(value / 1e6) : UNKNOWN);

export function bytes(n) {
  if (!known(n)) return UNKNOWN;
  return n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(1)} kB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`;
}

/** A level with its unit: dbm(-91.25, "dBm") is "−91.3 dBm". */
export function decibels(value, unit = "dB") {
  return known(value) ? `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(1)} ${unit}` : UNKNOWN;
}

/** A signed span: +12 ms, −3.1 s; for clocks. */
export function offset(us) {
  if (!known(us)) return UNKNOWN;
  return us > 0 ? `+${span(us)}` : span(us);
}

/** The first eight digits of a long id. */
export const shortId = (id) => (id ? id.slice(0, 8) : UNKNOWN);

const twoDigits = (n) => String(n).padStart(2, "0");

/** Time of day where the reader sits: 16:04:09, or 16:04. */
export function clock(us, withSeconds = true) {
  if (!known(us)) return UNKNOWN;
  const date = new Date(us / 1000);
  const minutes = `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
  return withSeconds ? `${minutes}:${twoDigits(date.getSeconds())}` : minutes;
}

// By hand: formatters of Intl take ten times as long, and the first of each a frame.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The day of a Date where the reader sits: 3 Nov. */
export const dayOf = (date) => `${date.getDate()} ${MONTHS[date.getMonth()]}`;

/** Day and time in full, where the reader sits: 3 Nov 2026, 16:04:09. */
export function moment(us) {
  if (!known(us)) return UNKNOWN;
  const date = new Date(us / 1000);
  return `${dayOf(date)} ${date.getFullYear()}, ${clock(us)}`;
}

/** Day and time of day, short: 3 Nov, 16:04. */
export const dayTime = (us) => (known(us) ? `${dayOf(new Date(us / 1000))}, ${clock(us, false)}` : UNKNOWN);

/** Day and time of day with seconds: 3 Nov, 16:04:09. */
export const dayClock = (us) => (known(us) ? `${dayTime(us)}:${twoDigits(new Date(us / 1000).getSeconds())}` : UNKNOWN);

/** The same moment in UTC, for titles and exchange: 2026-11-03 15:04:09 UTC. */
export const utc = (us) => `${new Date(us / 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** A `<time>` element: local time as text (by `words`), full local time and UTC in its title. */
export function time(us, words = dayTime) {
  if (!known(us)) return h("span", { class: "soft", text: UNKNOWN });
  return h("time", { datetime: new Date(us / 1000).toISOString(), title: `${moment(us)}\n${utc(us)}`, text: words(us) });
}
