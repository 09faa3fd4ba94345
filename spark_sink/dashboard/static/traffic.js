// Packets by kind (sent, and received by verdict) and each node's share of the air.

import { h, swatch, table } from "./dom.js";
import { bytes, count, many, percent, span } from "./format.js";

const VERDICTS = [
  { name: "sent", label: "sent" },
  { name: "new", label: "received new" },
  { name: "duplicate", label: "duplicate" },
  { name: "not_ours", label: "not ours" },
  { name: "invalid", label: "invalid" },
];
const KIND_NAMES = {
  entry: "entries", chunk: "chunks", want: "WANT", chnk: "CHNK", claim: "CLAIM", novelty: "NOVELTY",
  sketch: "SKETCH", ask: "ASK", feeds: "FEEDS",
  zap: "ZAP", ping: "ping", pong: "pong", unknown: "unknown",
};

const width = (element, share) => {
  element.style.width = `${(share * 100).toFixed(2)}%`;
  return element;
};

function byKind(packets) {
  const kinds = new Map();
  for (const one of packets) {
    if (!kinds.has(one.packet)) kinds.set(one.packet, new Map());
    kinds.get(one.packet).set(one.verdict, one);
  }
  return kinds;
}

const received = (verdicts) => [...verdicts.values()].filter((one) => one.verdict !== "sent").reduce((sum, one) => sum + one.packets, 0);
const sentOf = (verdicts) => verdicts.get("sent")?.packets ?? 0;

function stack(verdicts, names, most) {
  const parts = names.filter((name) => verdicts.has(name)).map((name) => {
    const one = verdicts.get(name);
    const label = VERDICTS.find((verdict) => verdict.name === name).label;
    return width(h("i", { class: `part v-${name}`, title: `${count(one.packets)} ${label}, ${bytes(one.bytes)}` }), one.packets / most);
  });
  return h("div", { class: "stack" }, ...parts);
}

function kindRow(kind, verdicts, most) {
  const heard = VERDICTS.slice(1).map((verdict) => verdict.name);
  const words = heard.filter((name) => verdicts.has(name)).map((name) => `${count(verdicts.get(name).packets)} ${name.replace("_", " ")}`);
  return h(
    "tr",
    {},
    h("th", { scope: "row", text: KIND_NAMES[kind] ?? kind }),
    h("td", { class: "bars" }, stack(verdicts, ["sent"], most), stack(verdicts, heard, most)),
    h("td", { class: "num", text: count(sentOf(verdicts)) }),
    h("td", { class: "num", title: words.join(", "), text: count(received(verdicts)) }),
  );
}

function airtimeRow(node, elapsedUs, most, total) {
  return h(
    "tr",
    {},
    h("th", { scope: "row", title: `node ${node.node}`, text: node.label }),
    h("td", { class: "bars" }, h("div", { class: "stack" }, width(h("i", { class: "part v-air" }), node.airtime_us / most))),
    h("td", { class: "num", text: percent(node.airtime_us / elapsedUs), title: `${span(node.airtime_us)} on air` }),
    h("td", { class: "num", text: percent(node.airtime_us / total) }),
  );
}

const heads = (...words) => words.map((word, index) => h("th", { scope: "col", class: index > 1 ? "num" : index ? "bars" : "", text: word }));

/** Each node's time on air, of the time that passed and of all time on air. */
export function renderAirtime(target, nodes, traffic) {
  const total = nodes.reduce((sum, node) => sum + node.airtime_us, 0);
  if (total === 0) {
    target.replaceChildren(h("p", { class: "nothing", text: "No airtime used: these faces cost none." }));
    return;
  }
  const elapsedUs = elapsed(traffic);
  const most = Math.max(...nodes.map((node) => node.airtime_us));
  const rows = [...nodes].sort((a, b) => b.airtime_us - a.airtime_us).map((node) => airtimeRow(node, elapsedUs, most, total));
  const caption = `Airtime by node, last ${span(elapsedUs)}`;
  target.replaceChildren(
    h("h3", { "aria-hidden": "true", text: `Airtime, last ${wholeMinutes(elapsedUs)}` }),
    table({ caption, className: "plain bar-table", head: heads("node", "", "of the time", "of all"), rows }),
  );
}

const elapsed = (traffic) => Math.max(traffic.until_us - traffic.since_us, 1e6);
const wholeMinutes = (us) => (us < 60e6 ? span(us) : many(Math.round(us / 60e6), "minute"));

export function renderTraffic(target, legend, windowLine, traffic) {
  const kinds = byKind(traffic.packets);
  if (kinds.size === 0) {
    windowLine.textContent = "Sent and received by all nodes.";
    legend.replaceChildren();
    target.replaceChildren(h("p", { class: "nothing", text: "No packets in the last ten minutes." }));
    return;
  }
  windowLine.textContent = `Sent and received by all nodes in the last ${wholeMinutes(elapsed(traffic))}.`;
  const most = Math.max(...[...kinds.values()].map((verdicts) => Math.max(sentOf(verdicts), received(verdicts))));
  // A kind that a newer node knows and this page does not comes last, under its own name.
  const order = Object.keys(KIND_NAMES);
  const place = (kind) => (order.includes(kind) ? order.indexOf(kind) : order.length);
  const sorted = [...kinds].sort(([a], [b]) => place(a) - place(b));
  target.replaceChildren(
    table({ caption: "Packets by kind", className: "plain bar-table", head: heads("kind", "", "sent", "received"), rows: sorted.map(([kind, verdicts]) => kindRow(kind, verdicts, most)) }),
  );
  renderLegend(legend, traffic.packets);
}

function renderLegend(legend, packets) {
  const totals = VERDICTS.map((verdict) => ({
    ...verdict,
    packets: packets.filter((one) => one.verdict === verdict.name).reduce((sum, one) => sum + one.packets, 0),
  }));
  const keys = totals.filter((verdict) => verdict.packets > 0);
  legend.replaceChildren(...keys.map((verdict) => swatch(`v-${verdict.name}`, `${verdict.label} ${count(verdict.packets)}`)));
}
