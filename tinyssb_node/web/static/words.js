// Values as words. Text of strangers is made safe here: characters that hide, reorder or flood become visible.

import { locale, t, tn } from "/static/language.js";

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d159}\u{e0000}-\u{e0fff}]/gu;
const JOINERS = /[\u200c\u200d]{2,}/g;
const MARKS = /(\p{M}{4})\p{M}+/gu;
const code = (char) => `⟨${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Stands before a change of a group. In texts of people it becomes `◇`, so that no one can fake a change. */
const HAPPENED = "◆";

/** Returns a text with line breaks, with all characters visible. */
export function visible(text) {
  return text
    .replace(/\r\n|[\u2028\u2029\u0085]/g, "\n")
    .replace(HIDDEN, code)
    .replace(JOINERS, "\u200d")
    .replace(MARKS, "$1")
    .replaceAll(HAPPENED, "◇")
    .replace(/\n{3,}/g, "\n\n");
}

/** Returns the same on one line, of bounded length. */
export function line(text, most = 80) {
  const flat = [...visible(text).replace(/\s+/g, " ").trim()];
  return flat.length > most ? `${flat.slice(0, most - 1).join("")}…` : flat.join("");
}

/** Returns whether a message is a change of its group; its words are the node's. */
export const isHappening = (row) => row.kind === "happening";

/** Return a message's text, and the same on one line. */
export const textOf = (row) => (isHappening(row) ? `${HAPPENED} ` : "") + visible(row.text);
export function summaryOf(row, most = 80) {
  if (row.file) return t("File {name}", { name: line(row.file.name, most) || t("without a name") });
  return (isHappening(row) ? `${HAPPENED} ` : "") + line(row.text, most);
}

export const digits = (feed) => feed.slice(0, 8);

/** Returns a name to stand among others: in quotation marks if a sign in it could pass for its end. */
const apart = (name) => (/(?![-_.'’·?!()…])\p{P}/u.test(name) ? `“${name.replace(/["„〝〞〟＂\p{Pi}\p{Pf}]/gu, "'")}”` : name);

/** Returns a name, and digits unless our user gave the name. Either may be empty. */
export function called(author) {
  if (author.own) return [t("You"), ""];
  return [author.name ? apart(line(author.name, 32)) : "", author.name && author.alone ? "" : digits(author.feed)];
}

/** Returns the same as text. */
export const nameOf = (author) => called(author).filter(Boolean).join(" ");

const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium" });

/** Returns the time of day, with the day if it is not today. */
export function timeOf(us) {
  const date = new Date(us / 1_000);
  const today = new Date().toDateString() === date.toDateString();
  return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}

export const fullTime = (us) => full.format(new Date(us / 1_000));

export const number = new Intl.NumberFormat(locale);

/** Returns a number with so many digits behind the decimal sign. */
export const decimal = (value, digits) => value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false });

/** Returns a span of time in the most fitting unit. */
export function duration(us) {
  const s = us / 1e6;
  if (s < 9.95) return `${decimal(s, 1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7_200) return `${Math.round(s / 60)} min`;
  if (s < 172_800) return `${Math.round(s / 3_600)} h`;
  return tn(Math.round(s / 86_400), "{n} day", "{n} days");
}

/** Returns how long ago something was. */
export const agoOf = (us) => t("{time} ago", { time: duration(Math.max(0, us)) });

/** Returns a number of bytes in the most fitting unit. */
export function size(bytes) {
  if (bytes < 1_000) return tn(bytes, "{n} byte", "{n} bytes");
  if (bytes < 1e6) return `${decimal(bytes / 1_000, 1)} kB`;
  return bytes < 1e9 ? `${decimal(bytes / 1e6, 1)} MB` : `${decimal(bytes / 1e9, 1)} GB`;
}

/** Returns the cost of a message, in words. */
export function costOf({ packets, costs }) {
  const words = costs.map(({ air_us: airUs, share, wait_us: waitUs }) => {
    const part = share === null ? null : t("{percent} % of the airtime allowed", { percent: decimal(100 * share, share < 0.1 ? 1 : 0) });
    const wait = waitUs ? t("sent within {time}", { time: duration(waitUs) }) : null;
    return [t("{time} of airtime", { time: duration(airUs) }), part, wait].filter(Boolean).join(", ");
  });
  return [tn(packets, "{n} packet", "{n} packets"), ...(words.length ? words : [t("no radio is up")])].join(" · ");
}

/** Returns on which nodes a message of ours is, in words; `sinceUs`: when the first one was written that the same people lack. */
export function holdersOf({ held, proven, inferred, expected, missing }, sinceUs) {
  if (!expected) return "";
  const confirmed = !inferred ? "" : `, ${proven ? tn(proven, "{n} confirmed", "{n} confirmed") : t("not confirmed")}`;
  const names = missing.map((author) => t("{name}’s", { name: nameOf(author) })).join(", ");
  const lacking = held < expected && names ? `; ${t("{names} not since {time}", { names, time: timeOf(sinceUs) })}` : "";
  return `${tn(expected, "on {held} of {n} node", "on {held} of {n} nodes", { held })}${confirmed}${lacking}`;
}
