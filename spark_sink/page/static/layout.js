// Layout of a graph: nodes near those they hear well, the same on every load, and in the same place
// from one update to the next. Stress minimisation by gradient descent, pair by pair (Zheng, Pawar and Goodman, 2018).

const ROUNDS = 60;
const STEP_LAST = 0.02;
const APART = 1.6; // between parts of the mesh that share no link, beyond the longest way within any
const STRETCH_MAX = 2.2;
const STRAIGHT = 0.01; // of the variance along a line, across it
const RESTLESS = 0.2; // how far new nodes push each other, against a first layout

/** Numbers below 1 that look random and are the same each time (Lehmer, 1951). */
function* sequence() {
  let state = 20_011;
  for (;;) {
    state = (state * 48_271) % 2_147_483_647;
    yield state / 2_147_483_647;
  }
}

/** Lengths of the shortest ways between all nodes; a link that loses packets is longer than one that doesn't. */
export function ways(names, links) {
  const index = new Map(names.map((name, place) => [name, place]));
  const n = names.length;
  const far = new Float64Array(n * n).fill(Infinity);
  for (const { sender, receiver, ratio } of links) {
    const [a, b] = [index.get(sender), index.get(receiver)];
    if (a === undefined || b === undefined || a === b) continue;
    const length = 1 + 0.8 * (1 - Math.min(1, Math.max(0, ratio ?? 1)));
    far[a * n + b] = far[b * n + a] = Math.min(far[a * n + b], length);
  }
  for (let at = 0; at < n; at += 1) far[at * n + at] = 0;
  for (let via = 0; via < n; via += 1) {
    for (let a = 0; a < n; a += 1) {
      const first = far[a * n + via];
      if (first === Infinity) continue;
      for (let b = 0; b < n; b += 1) {
        const length = first + far[via * n + b];
        if (length < far[a * n + b]) far[a * n + b] = length;
      }
    }
  }
  return far;
}

/** Parts that share no link are as far from each other as they are wide, and a bit. */
function bridge(far) {
  let longest = 1;
  for (const length of far) if (length !== Infinity && length > longest) longest = length;
  return far.map((length) => (length === Infinity ? longest + APART : length));
}

function ring(names) {
  return names.map((_name, place) => {
    const angle = (2 * Math.PI * place) / names.length - Math.PI / 2;
    return [Math.cos(angle), Math.sin(angle)];
  });
}

/** New nodes begin beside those they share a link with. */
function beside(name, places, links, chance) {
  const near = links.filter((link) => link.sender === name || link.receiver === name)
    .map((link) => places.get(link.sender === name ? link.receiver : link.sender)).filter(Boolean);
  const some = near.length ? near : [...places.values()];
  const mean = (axis) => some.reduce((sum, place) => sum + place[axis], 0) / some.length;
  return [mean(0) + chance.next().value - 0.5, mean(1) + chance.next().value - 0.5];
}

function shuffled(pairs, chance) {
  for (let at = pairs.length - 1; at > 0; at -= 1) {
    const other = Math.floor(chance.next().value * (at + 1));
    [pairs[at], pairs[other]] = [pairs[other], pairs[at]];
  }
  return pairs;
}

function relax(points, far, moves, start, chance) {
  const n = points.length;
  const pairs = [];
  for (let a = 0; a < n; a += 1) for (let b = a + 1; b < n; b += 1) if (moves[a] || moves[b]) pairs.push([a, b]);
  const decay = Math.log(start / STEP_LAST) / (ROUNDS - 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const step = start * Math.exp(-decay * round);
    for (const [a, b] of shuffled(pairs, chance)) {
      const wanted = far[a * n + b];
      const [dx, dy] = [points[a][0] - points[b][0], points[a][1] - points[b][1]];
      const length = Math.hypot(dx, dy) || 1e-6;
      const pull = (Math.min(1, step / (wanted * wanted)) * (length - wanted)) / (2 * length);
      const share = moves[a] && moves[b] ? 1 : 2;
      if (moves[a]) points[a] = [points[a][0] - share * pull * dx, points[a][1] - share * pull * dy];
      if (moves[b]) points[b] = [points[b][0] + share * pull * dx, points[b][1] + share * pull * dy];
    }
  }
}

/**
 * Places of all nodes as a Map of [x, y], in lengths of a good link. Nodes in `known` (such a Map, perhaps of
 * other nodes too) stay where they are; without it the same names and links give the same places.
 */
export function arrange(names, links, known = new Map()) {
  const sorted = [...names].sort();
  const chance = sequence();
  const kept = new Map(sorted.filter((name) => known.has(name)).map((name) => [name, known.get(name)]));
  if (kept.size === sorted.length) {
    // Nodes that came one by one, when few links were known, may lie in a line whose links hide each other.
    if (!isStraight(kept)) return kept;
    const anew = arrange(names, links);
    return isStraight(anew) ? kept : anew;
  }
  const first = kept.size === 0;
  const begin = ring(sorted);
  const points = sorted.map((name, place) => kept.get(name) ?? (first ? begin[place] : beside(name, kept, links, chance)));
  const far = bridge(ways(sorted, links));
  const longest = far.reduce((most, length) => Math.max(most, length), 1);
  relax(points, far, sorted.map((name) => !kept.has(name)), first ? longest * longest : RESTLESS, chance);
  const turned = first ? wideways(points) : points;
  return new Map(sorted.map((name, place) => [name, turned[place]]));
}

/** Scales places into a box of pixels with a margin, as a Map of [x, y] from the top left corner. */
export function fit(places, width, height, margin) {
  const points = [...places.values()];
  if (points.length === 0) return new Map();
  const [left, right] = span(points.map(([x]) => x));
  const [top, bottom] = span(points.map(([, y]) => y));
  const [roomX, roomY] = [Math.max(1, width - 2 * margin.x), Math.max(1, height - 2 * margin.y)];
  const scaleX = right > left ? roomX / (right - left) : 0;
  const scaleY = bottom > top ? roomY / (bottom - top) : 0;
  const even = Math.min(scaleX || scaleY, scaleY || scaleX);
  // A graph has no true shape: stretching it to fill the box, up to a bound, does no harm.
  const [x, y] = [Math.min(scaleX, even * STRETCH_MAX), Math.min(scaleY, even * STRETCH_MAX)];
  return new Map([...places.keys()].map((name, index) => [
    name,
    [width / 2 + (points[index][0] - (left + right) / 2) * x, height / 2 + (points[index][1] - (top + bottom) / 2) * y],
  ]));
}

const span = (values) => [Math.min(...values), Math.max(...values)];

/** The middle of points, and how far they are spread around it: [mx, my, xx, xy, yy]. */
function spread(points) {
  const n = points.length;
  const [mx, my] = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / n);
  let [xx, xy, yy] = [0, 0, 0];
  for (const [x, y] of points) {
    xx += (x - mx) ** 2;
    xy += (x - mx) * (y - my);
    yy += (y - my) ** 2;
  }
  return [mx, my, xx, xy, yy];
}

/** Whether places lie almost in a line. */
function isStraight(places) {
  if (places.size < 4) return false;
  const [, , xx, xy, yy] = spread([...places.values()]);
  const along = Math.hypot(xx - yy, 2 * xy);
  return xx + yy - along < STRAIGHT * (xx + yy + along);
}

/** Turned to their principal axis, so that a mesh is wider than high. */
function wideways(points) {
  const [mx, my, xx, xy, yy] = spread(points);
  // A shape that is as wide as high has no axis to speak of; it stays as it is.
  if (Math.hypot(xx - yy, 2 * xy) < 0.15 * (xx + yy)) return points;
  const angle = Math.atan2(2 * xy, xx - yy) / 2;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return points.map(([x, y]) => [(x - mx) * cos + (y - my) * sin, (y - my) * cos - (x - mx) * sin]);
}

/** Corners of the smallest convex shape around points (Andrew, 1979). */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const corners = [];
    for (const point of list) {
      while (corners.length > 1 && turn(corners.at(-2), corners.at(-1), point) <= 0) corners.pop();
      corners.push(point);
    }
    return corners.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
