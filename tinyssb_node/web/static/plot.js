// Figures as SVG: curves of values, and bars of hours. They are as wide as their card, and words beside them say the same.

const WIDTH = 600; // units of a drawing
const HEIGHT = 120;
const MARGIN = 6;

/** Creates an element of a drawing; attributes that are null are left out. */
export function svg(name, attributes = {}, ...children) {
  const part = document.createElementNS(document.querySelector(".brand svg").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) part.setAttribute(key, value);
  part.append(...children);
  return part;
}

const figure = (...parts) => svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts);

/** Returns the curve of `points` [[time, value]…], which lie from `low` to `high`. */
export function curve(points, low, high) {
  const [first, last] = [points[0][0], points[points.length - 1][0]];
  const x = (time) => MARGIN + ((WIDTH - 2 * MARGIN) * (time - first)) / (last - first || 1);
  const y = (value) => HEIGHT - MARGIN - ((HEIGHT - 2 * MARGIN) * (value - low)) / (high - low || 1);
  const places = points.map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return figure(svg("polyline", { points: places, "vector-effect": "non-scaling-stroke" }));
}

/** Returns a bar for each hour, made of the values of `series`, the first one below; `marks` are hours at which days begin. */
export function bars(series, marks) {
  const hours = series[0].length;
  const totals = series[0].map((_one, hour) => series.reduce((sum, values) => sum + values[hour], 0));
  const [wide, most] = [WIDTH / hours, Math.max(...totals, 1)];
  const floor = new Array(hours).fill(HEIGHT);
  const parts = series.map((values, at) => {
    const shapes = values.map((value, hour) => {
      if (!value) return "";
      const tall = Math.max(1, (value / most) * (HEIGHT - MARGIN)); // one of a thousand is to be seen, too
      floor[hour] -= tall;
      return `M${(hour * wide).toFixed(2)} ${floor[hour].toFixed(1)}h${(0.8 * wide).toFixed(2)}v${tall.toFixed(1)}h${(-0.8 * wide).toFixed(2)}z`;
    });
    return svg("path", { class: `bars part-${at}`, d: shapes.join("") });
  });
  const days = marks.map((hour) => `M${(hour * wide).toFixed(2)} 0V${HEIGHT}`).join("");
  return figure(svg("path", { class: "days", d: `${days}M0 ${HEIGHT}H${WIDTH}`, "vector-effect": "non-scaling-stroke" }), ...parts);
}
