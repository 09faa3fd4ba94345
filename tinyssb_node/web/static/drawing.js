// The drawing of the map: places, names, a scale and degrees, on the ground of the node's own file if it has one. It can be
// dragged, zoomed, and used by keyboard.

import { h } from "/static/dom.js";
import { Ground } from "/static/ground.js";
import { parts, t, tn } from "/static/language.js";
import { distance, project, rounded, unproject, worldMetres } from "/static/mercator.js";
import { svg } from "/static/plot.js";
import { line, nameOf } from "/static/words.js";

const LEAST = 256; // pixels of the world's width
const MOST = 2 ** 30; // 4 cm a pixel
const CLOSE = 2 ** 23; // of a single place: 5 m a pixel
const ATTRIBUTION_MAX = 200;
const LETTER = 8; // pixels of a letter, about
const STEP = 80; // pixels by an arrow key
const TICKS = [90, 45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];

export class MapDrawing {
  constructor() {
    this.make = svg;
    this.ground = new Ground(null);
    this.marked = this.make("g");
    this.svg = this.make("svg", { class: "map", tabindex: "0", role: "img" }, this.ground.element, this.marked);
    this.author = h("p", { class: "map-author", hidden: true });
    const button = (text, name, act) => h("button", { type: "button", class: "button quiet", "aria-label": name, onclick: act, text });
    this.element = h("div", { class: "map-frame" }, this.svg, this.author, h("div", { class: "map-buttons" }, button("+", t("Zoom in"), () => this.zoom(2)), button("−", t("Zoom out"), () => this.zoom(0.5)), button(t("All"), t("Show all"), () => this.fit())));
    this.places = [];
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  listen() {
    const keys = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    this.svg.addEventListener("keydown", (event) => {
      if (keys[event.key]) this.move(...keys[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(2);
      else if (event.key === "-") this.zoom(0.5);
      else return;
      event.preventDefault();
    });
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(2 ** (-event.deltaY / 300), event.offsetX, event.offsetY);
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (event) => {
      this.svg.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
  }

  /** Moves the map with one pointer; with two of them it zooms, too. */
  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const here = [event.offsetX, event.offsetY];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, here);
    if (!other) this.move(before[0] - here[0], before[1] - here[1]);
    else {
      const apart = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      this.zoom(apart(here) / Math.max(1, apart(before)), other[0], other[1]);
    }
  }

  /** Shows `places`: author, position, and `old`, whether much of its validity is over. */
  show(places) {
    this.places = places.map((one) => ({ ...one, ...project(one.position) }));
    this.svg.setAttribute("aria-label", tn(places.length, "Map of {n} position, which is listed below. Arrow keys move it, plus and minus zoom.", "Map of {n} positions, which are listed below. Arrow keys move it, plus and minus zoom."));
    if (this.centre) this.draw();
    else this.fit();
  }

  /** Draws on the pictures of a map file, as the node describes it; null: there is none. */
  lay(map) {
    const ground = new Ground(map);
    this.ground.element.replaceWith(ground.element);
    this.ground = ground;
    const author = line(map?.attribution ?? "", ATTRIBUTION_MAX);
    this.author.hidden = !author;
    this.author.replaceChildren(...parts(t("Map: {author}"), { author: h("bdi", { text: author }) }));
    this.svg.classList.toggle("grounded", Boolean(map));
    if (this.centre) this.draw();
  }

  /** Moves so that all places are visible. */
  fit() {
    if (!this.places.length || !this.svg.clientWidth) return;
    const xs = this.places.map((one) => one.x);
    const ys = this.places.map((one) => one.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    this.centre = { x: (left + right) / 2, y: (top + bottom) / 2 };
    const wide = Math.min((this.svg.clientWidth * 0.7) / (right - left || 1e-9), (this.svg.clientHeight * 0.7) / (bottom - top || 1e-9));
    const widest = Math.max(...this.places.map((one) => one.position.radius_m ?? 0)); // a coarse place is a circle, and fits, too
    const round = (0.4 * Math.min(this.svg.clientWidth, this.svg.clientHeight) * worldMetres(unproject(this.centre).latitude)) / Math.max(widest, 1);
    this.scale = Math.max(LEAST, Math.min(CLOSE, wide, round));
    this.draw();
  }

  /** Moves to one place. */
  centreOn(position) {
    this.centre = project(position);
    this.scale = Math.max(this.scale ?? LEAST, CLOSE / 8);
    this.draw();
    this.svg.focus();
    this.svg.scrollIntoView({ block: "nearest" });
  }

  move(right, down) {
    if (!this.centre) return;
    this.centre = { x: this.centre.x + right / this.scale, y: Math.max(0, Math.min(1, this.centre.y + down / this.scale)) };
    this.draw();
  }

  /** Zooms around a point, which stays where it is. */
  zoom(factor, atX = this.svg.clientWidth / 2, atY = this.svg.clientHeight / 2) {
    if (!this.centre) return;
    const scale = Math.max(LEAST, Math.min(MOST, this.scale * factor));
    const [fromX, fromY] = [atX - this.svg.clientWidth / 2, atY - this.svg.clientHeight / 2];
    this.centre = { x: this.centre.x + fromX / this.scale - fromX / scale, y: this.centre.y + fromY / this.scale - fromY / scale };
    this.scale = scale;
    this.draw();
  }

  draw() {
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    if (!width || !height) return;
    if (!this.centre) {
      this.fit();
      return;
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const at = ({ x, y }) => [width / 2 + (x - this.centre.x) * this.scale, height / 2 + (y - this.centre.y) * this.scale];
    this.ground.draw(this.centre, this.scale, width, height);
    this.marked.replaceChildren(...this.grid(width, height, at), ...this.marks(width, height, at), ...this.scaleBar(height));
  }

  /** Returns lines of latitude and longitude, with their degrees. */
  grid(width, height, at) {
    const corner = (right, down) => unproject({ x: this.centre.x + right / this.scale, y: this.centre.y + down / this.scale });
    const [first, last] = [corner(-width / 2, -height / 2), corner(width / 2, height / 2)];
    const wanted = ((last.longitude - first.longitude) * 130) / width;
    const step = TICKS.findLast((one) => one >= wanted) ?? TICKS[0];
    const digits = Math.max(0, Math.ceil(-Math.log10(step)));
    const lines = [];
    for (let n = Math.ceil(first.longitude / step); n * step <= last.longitude; n++) {
      const [x] = at(project({ latitude: 0, longitude: n * step }));
      const around = ((n * step + 540) % 360) - 180;
      lines.push(this.make("path", { class: "degree", d: `M${x.toFixed(1)} 0V${height}` }), this.make("text", { class: "degree", x: (x + 3).toFixed(1), y: height - 5 }, `${Math.abs(around).toFixed(digits)}° ${around < 0 ? t("W") : t("E")}`));
    }
    for (let n = Math.ceil(last.latitude / step); n * step <= first.latitude; n++) {
      const [, y] = at(project({ latitude: n * step, longitude: 0 }));
      lines.push(this.make("path", { class: "degree", d: `M0 ${y.toFixed(1)}H${width}` }), this.make("text", { class: "degree", x: 4, y: (y - 4).toFixed(1) }, `${Math.abs(n * step).toFixed(digits)}° ${n < 0 ? t("S") : t("N")}`));
    }
    return lines;
  }

  /** Returns the places in sight: circles of their precision, dots, and names where there is room. */
  marks(width, height, at) {
    const [circles, dots, names, taken] = [[], [], [], []];
    for (const one of this.places) {
      const [x, y] = at(one);
      const radius = ((one.position.radius_m ?? 0) / worldMetres(one.position.latitude)) * this.scale;
      if (x < -radius || y < -radius || x > width + radius || y > height + radius) continue;
      const kind = `${one.author.own ? " own" : ""}${one.old ? " old" : ""}`;
      if (radius > 8) circles.push(this.make("circle", { class: `around${kind}`, cx: x.toFixed(1), cy: y.toFixed(1), r: Math.min(radius, 1e5).toFixed(1) }));
      dots.push(this.make("circle", { class: `place${kind}`, cx: x.toFixed(1), cy: y.toFixed(1), r: one.author.own ? 8 : 7 }));
      const text = line(nameOf(one.author), 24);
      const size = LETTER * text.length;
      const before = x + 12 + size > width && x - 12 > size; // behind the dot there is no room
      const start = before ? x - 12 - size : x + 12;
      const box = [start, y - 9, start + size, y + 9];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      names.push(this.make("text", { class: `name${kind}${before ? " before" : ""}`, x: (before ? x - 12 : start).toFixed(1), y: (y + 5).toFixed(1) }, text));
    }
    return [...circles, ...dots, ...names];
  }

  scaleBar(height) {
    const metres = worldMetres(unproject(this.centre).latitude) / this.scale;
    const bar = rounded(metres * 120);
    const length = bar / metres;
    return [this.make("path", { class: "scale", d: `M8 ${height - 34}v6h${length.toFixed(1)}v-6` }), this.make("text", { class: "scale", x: 8, y: height - 38 }, distance(bar))];
  }
}
