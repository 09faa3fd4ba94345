// Nodes where they stand: links between them, a grid of latitude and longitude, a scale. Pictures of the ground are fetched
// only from a file or a server that the page was started with; where they do not come, the grid is there.

import { get } from "../api.js";
import { card, h, setText, swatch, tool } from "../dom.js";
import { leaflet } from "../charts.js";
import { age, count, decibels, many, percent, time } from "../format.js";
import { fade, isStale, RATIOS, ratioClass } from "../mesh.js";
import { begin, nothing } from "../states.js";
import { csvLink } from "../table.js";
import { dotKeys } from "./topology.js";

const PATH = "/api/topology";
const EDGE_PX = 48;
const ZOOM_MAX = 18;
const ZOOM_ALONE = 14;
const TILE_ZOOM_MAX = 17; // most servers have it everywhere; beyond it their pictures are enlarged
const LABEL_PX = 90; // from one line of the grid to the next, at least
const LINE_PX = 16; // height of a label
const NAMED_MAX = 5;
const GRID_STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];

const isPlaced = (node) => Number.isFinite(node.latitude) && Number.isFinite(node.longitude);
const degrees = (value, step, [plus, minus]) => `${Math.abs(value).toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))}° ${value < 0 ? minus : plus}`;

export const show = (root, context) => begin(new MapView(root, context));

class MapView {
  constructor(root, context) {
    this.context = context;
    this.box = h("div", { class: "map-box", role: "group", "aria-label": "Map of the nodes; plus and minus zoom, arrow keys move it, Tab goes from node to node" });
    this.none = h("div", { class: "map-none", hidden: true });
    this.fit = tool("Show all", () => this.showAll());
    this.map = card({ id: "map", title: "Where the nodes are", wide: true, tools: [this.fit, csvLink(() => context.csv(PATH, { table: "nodes" }))] });
    this.map.footer.className = "legend";
    this.map.body.append(this.box, this.none);
    root.append(h("div", { class: "grid" }, this.map.element));
    this.markers = new Map();
    this.lines = new Map();
  }

  async update({ kind }) {
    if (kind === "theme") return;
    this.body = await this.context.load(PATH);
    const placed = this.body.nodes.filter(isPlaced);
    const rest = this.body.nodes.filter((node) => !isPlaced(node));
    const far = placed.length ? this.longest(placed) : "";
    const without = rest.slice(0, NAMED_MAX).map((node) => node.label).join(", ");
    const more = rest.length > NAMED_MAX ? ` and ${count(rest.length - NAMED_MAX)} more` : "";
    setText(this.map.sub, `${count(placed.length)} of ${many(this.body.nodes.length, "node")} with a position${rest.length && placed.length ? `; without: ${without}${more}` : ""}.${far}`);
    this.box.hidden = this.fit.hidden = placed.length === 0;
    this.none.hidden = placed.length > 0;
    if (placed.length === 0) {
      this.none.replaceChildren(nothing("Nodes that know their place appear here. Set latitude and longitude in a node’s config.toml, and restart it."));
      return;
    }
    this.library ??= await leaflet();
    this.tiles ??= (await get("/api/page")).tiles ?? false;
    if (!this.closed) this.draw(placed);
  }

  longest(placed) {
    const where = new Map(placed.map((node) => [node.node, node]));
    const best = this.body.links.filter((link) => where.has(link.sender) && where.has(link.receiver))
      .map((link) => ({ link, km: kilometres(where.get(link.sender), where.get(link.receiver)) })).sort((a, b) => b.km - a.km)[0];
    return best ? ` Longest link: ${best.km.toFixed(best.km < 10 ? 1 : 0)} km, ${where.get(best.link.receiver).label} hears ${where.get(best.link.sender).label}.` : "";
  }

  draw(placed) {
    const L = this.library;
    const first = !this.chart;
    if (first) {
      this.chart = L.map(this.box, { attributionControl: false, zoomControl: false, maxZoom: ZOOM_MAX, zoomSnap: 0.25, zoomAnimation: false, fadeAnimation: false, markerZoomAnimation: false, worldCopyJump: true });
      L.control.zoom({ position: "topright" }).addTo(this.chart);
      L.control.scale({ imperial: false }).addTo(this.chart);
      if (this.tiles) this.paper();
      this.ground = L.layerGroup().addTo(this.chart);
      this.sizes = new ResizeObserver(() => this.chart.invalidateSize({ pan: false }));
      this.sizes.observe(this.box);
      this.bounds = L.latLngBounds(placed.map((node) => [node.latitude, node.longitude]));
      this.showAll();
      this.chart.on("moveend", () => this.grid());
      this.chart.on("dragstart", () => this.keep());
      for (const kind of ["wheel", "click", "keydown"]) this.box.addEventListener(kind, () => this.keep(), { passive: true });
    }
    const bounds = L.latLngBounds(placed.map((node) => [node.latitude, node.longitude]));
    const grew = !this.bounds.contains(bounds);
    this.bounds = bounds;
    if (grew && !this.kept) this.showAll();
    this.nodes(placed);
    this.links(new Map(placed.map((node) => [node.node, node])));
    if (first) this.grid();
    this.legend();
  }

  /** Leaves the map where the reader put it, whatever nodes come. */
  keep() {
    this.kept = true;
  }

  /** Pictures of the ground; the grid goes once they come, and is back when one does not. */
  paper() {
    const show = (bare) => {
      if (this.bare === bare) return;
      this.bare = bare;
      this.grid();
    };
    const { url, zoom_min: least = 0, zoom_max: most = TILE_ZOOM_MAX, bounds } = this.tiles;
    const around = bounds && [[bounds[1], bounds[0]], [bounds[3], bounds[2]]];
    this.library.tileLayer(url, { minNativeZoom: least, maxNativeZoom: most, maxZoom: ZOOM_MAX, ...(around && { bounds: around }) })
      .on("tileload", () => show(false)).on("tileerror", () => show(true)).addTo(this.chart);
    if (this.tiles.by) this.box.append(h("p", { class: "map-by", text: this.tiles.by }));
  }

  showAll() {
    this.kept = false;
    if (this.bounds.getSouthWest().equals(this.bounds.getNorthEast())) this.chart.setView(this.bounds.getCenter(), ZOOM_ALONE);
    else this.chart.fitBounds(this.bounds, { padding: [EDGE_PX, EDGE_PX], animate: false });
  }

  nodes(placed) {
    const L = this.library;
    const wanted = new Set(placed.map((node) => node.node));
    for (const [id, marker] of this.markers) {
      if (!wanted.has(id)) {
        marker.remove();
        this.markers.delete(id);
      }
    }
    for (const node of placed) {
      const look = JSON.stringify([node.label, node.running, node.behind > 0, node.latitude, node.longitude]);
      const before = this.markers.get(node.node);
      if (before?.look === look) continue;
      before?.remove();
      const face = h("span", { class: `pin${node.running ? "" : " stopped"}${node.behind ? " behind" : ""}` }, h("i"), h("span", { text: node.label }));
      const marker = L.marker([node.latitude, node.longitude], { icon: L.divIcon({ html: face, className: "pin-box", iconSize: [16, 16] }), keyboard: true, title: `${node.label}: everything about it` });
      marker.on("click", () => this.context.go(`/node/${node.node}`));
      marker.on("keypress", (event) => event.originalEvent.key === "Enter" && this.context.go(`/node/${node.node}`));
      marker.look = look;
      marker.addTo(this.chart);
      this.markers.set(node.node, marker);
    }
  }

  /** One line for both directions of a pair: the better one's colour, with both in the label. */
  links(where) {
    const pairs = new Map();
    for (const link of this.body.links) {
      if (!where.has(link.sender) || !where.has(link.receiver)) continue;
      const key = [link.sender, link.receiver].sort().join(" ");
      pairs.set(key, [...(pairs.get(key) ?? []), link]);
    }
    for (const [key, line] of this.lines) {
      if (pairs.has(key)) continue;
      line.remove();
      this.lines.delete(key);
    }
    for (const [key, both] of pairs) this.line(key, both, where);
  }

  /** A line that is there already is given its new look; what is said of it is put together when it is pointed at. */
  line(key, both, where) {
    const best = both.reduce((a, b) => ((b.ratio ?? 0) > (a.ratio ?? 0) ? b : a));
    const ageUs = this.body.to_us - Math.max(...both.map((link) => link.last_us));
    const ends = [best.sender, best.receiver].map((id) => [where.get(id).latitude, where.get(id).longitude]);
    const opacity = fade(ageUs).toFixed(2);
    const look = JSON.stringify([ends, ratioClass(best.ratio), isStale(ageUs), opacity]);
    let line = this.lines.get(key);
    if (line?.look !== look) {
      line?.remove();
      line = this.library.polyline(ends, { className: `map-link ${ratioClass(best.ratio)}${isStale(ageUs) ? " stale" : ""}`, weight: 2.5, opacity });
      line.bindTooltip(() => h("div", {}, ...line.both.map((link) => h("div", { text: this.words(link, line.where) }))), { sticky: true });
      line.look = look;
      line.addTo(this.chart);
      this.lines.set(key, line);
    }
    Object.assign(line, { both, where });
  }

  words(link, where) {
    const strength = link.snr_db === null ? "" : `, SNR ${decibels(link.snr_db)}`;
    return `${where.get(link.receiver).label} hears ${where.get(link.sender).label}: ${percent(link.ratio)}${strength}, last ${age(this.body.to_us - link.last_us)}`;
  }

  grid() {
    const L = this.library;
    const bounds = this.chart.getBounds();
    const [south, north, west, east] = [bounds.getSouth(), bounds.getNorth(), bounds.getWest(), bounds.getEast()];
    const size = this.chart.getSize();
    const stepOf = (degrees_, pixels) => GRID_STEPS.findLast((step) => degrees_ / step <= Math.max(2, pixels / LABEL_PX)) ?? GRID_STEPS[0];
    const [stepX, stepY] = [stepOf(east - west, size.x), stepOf(north - south, size.y)];
    this.ground.clearLayers();
    if (this.bare === false) return;
    const fits = (at, name) => { // a label at the very edge would be cut off
      const { x, y } = this.chart.latLngToContainerPoint(at);
      return name === "along" ? y > LINE_PX : x < size.x - LABEL_PX / 2;
    };
    const label = (at, text, name) => L.marker(at, { icon: L.divIcon({ html: h("span", { text }), className: `grid-label ${name}`, iconSize: [0, 0] }), interactive: false, keyboard: false, zIndexOffset: -1000 });
    const line = (from, to, text, name) => {
      this.ground.addLayer(L.polyline([from, to], { className: "grid-line", weight: 1, interactive: false }));
      if (fits(from, name)) this.ground.addLayer(label(from, text, name));
    };
    for (let at = Math.ceil(south / stepY) * stepY; at < north; at += stepY) line([at, west], [at, east], degrees(at, stepY, ["N", "S"]), "along");
    for (let at = Math.ceil(west / stepX) * stepX; at < east; at += stepX) line([north, at], [south, at], degrees(at, stepX, ["E", "W"]), "up");
    this.ground.eachLayer((layer) => layer.bringToBack?.());
  }

  legend() {
    const some = new Set(this.body.links.map((link) => ratioClass(link.ratio)));
    this.map.footer.replaceChildren(
      h("span", { text: "Delivered, in the better direction:" }),
      ...RATIOS.filter(([, name]) => some.has(name)).map(([, name, words]) => swatch(`line ${name}`, words)),
      ...dotKeys(this.body.nodes.filter(isPlaced)),
      h("span", { class: "note" }, "paler: longer ago · up to ", time(this.body.to_us)),
    );
  }

  close() {
    this.closed = true;
    this.sizes?.disconnect();
    this.chart?.remove();
  }
}

/** Great-circle distance, on a sphere of 6,371 km. */
function kilometres(a, b) {
  const radians = (value) => (value * Math.PI) / 180;
  const half = Math.sin(radians(b.latitude - a.latitude) / 2) ** 2
    + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * Math.sin(radians(b.longitude - a.longitude) / 2) ** 2;
  return 2 * 6_371 * Math.asin(Math.sqrt(half));
}
