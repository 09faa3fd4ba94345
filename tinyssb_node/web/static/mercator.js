// The projection of the map (Web Mercator, EPSG:3857), in units of the world's width, and distances on the Earth.

import { t } from "/static/language.js";
import { decimal } from "/static/words.js";

const EARTH_M = 6_371_000;
const AROUND_M = 40_075_017; // the equator
const MOST_DEGREES = 85.0511; // beyond, a square world has no room
const radians = (degrees) => (degrees * Math.PI) / 180;
const degrees = (radian) => (radian * 180) / Math.PI;
const WINDS = [t("N"), t("NE"), t("E"), t("SE"), t("S"), t("SW"), t("W"), t("NW")];

/** Returns the place on a world of 1 × 1, its origin in the north-west. */
export function project({ latitude, longitude }) {
  const north = radians(Math.max(-MOST_DEGREES, Math.min(MOST_DEGREES, latitude)));
  return { x: longitude / 360 + 0.5, y: 0.5 - Math.asinh(Math.tan(north)) / (2 * Math.PI) };
}

/** Returns latitude and longitude of a place on that world. */
export const unproject = ({ x, y }) => ({ latitude: degrees(Math.atan(Math.sinh(Math.PI * (1 - 2 * y)))), longitude: (x - 0.5) * 360 });

/** Returns how many metres the width of the world stands for at a latitude. */
export const worldMetres = (latitude) => AROUND_M * Math.cos(radians(Math.max(-MOST_DEGREES, Math.min(MOST_DEGREES, latitude))));

/** Returns metres and degrees from north of the way from one place to another. */
export function way(from, to) {
  const [first, second, across] = [radians(from.latitude), radians(to.latitude), radians(to.longitude - from.longitude)];
  const half = Math.sin((second - first) / 2) ** 2 + Math.cos(first) * Math.cos(second) * Math.sin(across / 2) ** 2;
  const east = Math.sin(across) * Math.cos(second);
  const north = Math.cos(first) * Math.sin(second) - Math.sin(first) * Math.cos(second) * Math.cos(across);
  return { metres: 2 * EARTH_M * Math.asin(Math.min(1, Math.sqrt(half))), course: (degrees(Math.atan2(east, north)) + 360) % 360 };
}

export const wind = (course) => WINDS[Math.round(course / 45) % 8];

/** Returns a distance in words. */
export function distance(metres) {
  if (metres < 1_000) return `${Math.round(metres)} m`;
  return `${decimal(metres / 1_000, metres < 100_000 ? 1 : 0)} km`;
}

/** Returns the largest of 1, 2, 5, 10, 20 … that is at most `most`. */
export function rounded(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return power * (most / power >= 5 ? 5 : most / power >= 2 ? 2 : 1);
}
