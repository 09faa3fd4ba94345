// Numbers, spans and moments as words. All times arrive in microseconds.

const SECOND = 1e6;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const WHOLE = new Intl.NumberFormat("en");

export const count = (n) => WHOLE.format(n);

/** "1 node", "3 nodes", "2 entries". */
export function many(n, one, more = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : more}`;
}

/** A span with two figures at most: 0.8 s, 12.3 s, 3 min 12 s, 2 h 5 min, 4 d 3 h. */
export function span(us) {
  if (us === null) return "–";
  if (us < 0) return `−${span(-us)}`;
  if (us < 9.95 * SECOND) return `${(us / SECOND).toFixed(us < 0.0995 * SECOND ? 2 : 1)} s`;
  if (us < 59.5 * SECOND) return `${Math.round(us / SECOND)} s`;
  if (us < HOUR) return pair(us, MINUTE, "min", SECOND, "s");
  if (us < DAY) return pair(us, HOUR, "h", MINUTE, "min");
  return pair(us, DAY, "d", HOUR, "h");
}

function pair(us, big, bigName, small, smallName) {
  const whole = Math.round(us / small);
  const ratio = big / small;
  const rest = whole % ratio;
  const head = `${Math.floor(whole / ratio)} ${bigName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** A span in whole seconds: ages tick, so a decimal would only flicker. */
export function wholeSpan(us) {
  return us < MINUTE ? `${Math.floor(us / SECOND)} s` : span(us);
}

/** "just now", "12 s ago"; the future (a clock ahead) counts as now. */
export function age(us) {
  return us < 2 * SECOND ? "just now" : `${wholeSpan(us)} ago`;
}

/** A share of one, as per cent with a sensible number of figures. */
export function percent(share) {
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value < 0.01) return "< 0.01 %";
  return `${value.toFixed(value < 1 ? 2 : value < 99.95 ? 1 : 0)} %`;
}

export function bytes(n) {
  return n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

const twoDigits = (n) => String(n).padStart(2, "0");

/** Time of day where the reader sits: 16:04:09, or 16:04. */
export function clock(us, withSeconds = true) {
  const date = new Date(us / 1000);
  const minutes = `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
  return withSeconds ? `${minutes}:${twoDigits(date.getSeconds())}` : minutes;
}

/** Day and time in full, for hover texts. */
export function moment(us) {
  return new Date(us / 1000).toLocaleString();
}
