// The ground of the map: pictures (tiles) that the node reads from a file of its own. Nobody else is asked for any.

import { arrange } from "/static/dom.js";
import { svg } from "/static/plot.js";

const TILE = 256; // pixels, for which tiles are drawn
const ENLARGED = 4; // zooms by which the last tiles are still enlarged
const MOST = 160; // tiles in sight: a desk's screen with two dots a pixel has some 90
const SHARPEST = 2; // dots a pixel

export class Ground {
  /** `map`: version, zoom_min, zoom_max, bounds, as the node describes its file; null: there is none. */
  constructor(map) {
    this.map = map;
    this.element = svg("g", { class: "ground", "aria-hidden": "true" });
    this.tiles = new Map();
  }

  /** Shows the tiles around `centre`, in a window of `width` and `height` pixels; the world is `scale` pixels wide. */
  draw(centre, scale, width, height) {
    if (!this.map) return;
    const wanted = this.wanted(centre, scale, width, height);
    for (const name of wanted) if (!this.tiles.has(name)) this.tiles.set(name, this.tile(name));
    this.clear(wanted);
    for (const { image, zoom, column, row } of this.tiles.values()) {
      const side = scale / 2 ** zoom;
      const edge = (at, half, number) => Math.round(half - at * scale + number * side); // whole pixels: no seams
      const [left, top] = [edge(centre.x, width / 2, column), edge(centre.y, height / 2, row)];
      const size = { x: left, y: top, width: edge(centre.x, width / 2, column + 1) - left, height: edge(centre.y, height / 2, row + 1) - top };
      for (const [key, value] of Object.entries(size)) image.setAttribute(key, value);
    }
    arrange(this.element, [...this.tiles.values()].map((one) => one.image));
  }

  /** Returns the names of the tiles in sight; none if they would be too many, or too coarse. */
  wanted(centre, scale, width, height) {
    const fitting = Math.round(Math.log2((scale * Math.min(SHARPEST, devicePixelRatio)) / TILE));
    const zoom = Math.max(this.map.zoom_min, Math.min(this.map.zoom_max, fitting));
    if (fitting - zoom > ENLARGED) return new Set();
    const side = 2 ** zoom;
    const [first, last] = [[centre.x - width / 2 / scale, centre.y - height / 2 / scale], [centre.x + width / 2 / scale, centre.y + height / 2 / scale]].map((corner) => corner.map((at) => Math.floor(at * side)));
    const [top, bottom] = [Math.max(0, first[1]), Math.min(side - 1, last[1])];
    const names = new Set();
    if ((last[0] - first[0] + 1) * (bottom - top + 1) > MOST) return names;
    for (let column = first[0]; column <= last[0]; column++) for (let row = top; row <= bottom; row++) if (this.has(zoom, column, row)) names.add(`${zoom}/${column}/${row}`);
    return names;
  }

  /** Returns whether a tile may be in the file, by its bounds. Columns go on around the world. */
  has(zoom, column, row) {
    if (!this.map.bounds) return true;
    const [west, south, east, north] = this.map.bounds;
    const side = 2 ** zoom;
    const across = ((column % side) + side) % side;
    const latitude = (at) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * at) / side))) * 180) / Math.PI;
    return (across + 1) / side > west / 360 + 0.5 && across / side < east / 360 + 0.5 && latitude(row + 1) < north && latitude(row) > south;
  }

  tile(name) {
    const [zoom, column, row] = name.split("/").map(Number);
    const side = 2 ** zoom;
    const image = svg("image", { href: `/api/tile/${zoom}/${((column % side) + side) % side}/${row}?v=${this.map.version}`, preserveAspectRatio: "none" });
    const tile = { image, zoom, column, row, done: false };
    for (const event of ["load", "error"]) {
      image.addEventListener(event, () => {
        tile.done = true;
        if (event === "error") image.setAttribute("visibility", "hidden"); // browsers draw a broken picture
        this.clear(this.shown);
      });
    }
    return tile;
  }

  /** Removes tiles that are out of sight, once those in sight are there: until then the old ones stand in. */
  clear(wanted) {
    this.shown = wanted;
    const ready = [...wanted].every((name) => this.tiles.get(name)?.done);
    for (const [name, { image }] of this.tiles) {
      if (wanted.has(name) || !(ready || this.tiles.size > 2 * MOST)) continue;
      image.remove();
      this.tiles.delete(name);
    }
  }
}
