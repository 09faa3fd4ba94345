// Positions that a guest's phone signs: the same grid and the same bytes as the node's (docs/formats/telemetry.md).

import { bipf, minutesOf } from "/static/entries.js";
import { person } from "/static/person.js";
import { tn } from "/static/language.js";

const DEGREE = 100_000; // units of latitude and longitude in a degree
const UNIT_M = 1.1132; // metres in a unit of latitude
const POLE = 89; // degrees beyond which columns grow no wider
const HALF_DIAGONAL = 0.71; // of a square's side
const RADIUS_MAX = 20_040_000;
const RECORD = 48; // bytes, of which an entry is one packet

/** Returns a place on the grid of `precision` metres, in units of the format; 0: the exact one. */
export function coarsened({ latitude, longitude, accuracy_m: accuracy }, precision) {
  const exact = [Math.round(latitude * DEGREE), Math.round(longitude * DEGREE)];
  if (!precision) return { latitude: exact[0], longitude: exact[1], radius: Math.min(Math.ceil(accuracy), RADIUS_MAX) };
  const centre = (value, side, most) => Math.max(-most, Math.min(most, Math.floor(value / side) * side + Math.floor(side / 2)));
  const rows = Math.max(1, Math.round(precision / UNIT_M));
  const row = centre(exact[0], rows, 90 * DEGREE);
  const columns = Math.max(1, Math.round(rows / Math.cos((Math.min(Math.abs(row) / DEGREE, POLE) * Math.PI) / 180)));
  return { latitude: row, longitude: centre(exact[1], columns, 180 * DEGREE), radius: Math.min(Math.ceil(accuracy) + Math.ceil(HALF_DIAGONAL * precision), RADIUS_MAX) };
}

/** Returns the record of a place; null in its stead withdraws the last one. */
export function positionRecord(place, minutes, nowS) {
  const written = bipf(["POS", minutesOf(nowS), ...(place ? [minutes, place.latitude, place.longitude, place.radius] : [])]);
  const record = new Uint8Array(RECORD);
  record.set(written);
  return record;
}

const nowS = () => Math.floor(Date.now() / 1_000);

/** The position of a guest: this phone makes and signs its records. The node is asked for nothing. */
export const guestPosition = {
  async read() {
    const shown = person.me?.position;
    return { groups: [], shown: shown && (shown.until_ms === null || shown.until_ms > Date.now()) ? [null] : [] };
  },

  async preview({ precision_m: precision, ...place }) {
    const { latitude, longitude, radius } = coarsened(place, precision);
    return { latitude: latitude / DEGREE, longitude: longitude / DEGREE, radius_m: radius, words: tn(1, "{n} packet", "{n} packets") };
  },

  share({ precision_m: precision, valid_minutes: minutes, ...place }) {
    const untilMs = minutes ? Date.now() + minutes * 60_000 : null;
    return person.locate(positionRecord(coarsened(place, precision), minutes, nowS()), { until_ms: untilMs });
  },

  stop() {
    return person.locate(positionRecord(null, null, nowS()), null);
  },
};
