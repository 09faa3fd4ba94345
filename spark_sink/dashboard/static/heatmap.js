// Feed × node: entries behind, as a real table. The number carries the meaning; colour only repeats it.

import { h, swatch, table } from "./dom.js";
import { count, many } from "./format.js";

// Upper bounds of the classes: lightness falls (in the dark theme: rises) in even steps, so the order
// survives every kind of colour blindness and grey print.
const CLASSES = [
  { upTo: 0, name: "b0", label: "0" },
  { upTo: 2, name: "b1", label: "1–2" },
  { upTo: 9, name: "b2", label: "3–9" },
  { upTo: 29, name: "b3", label: "10–29" },
  { upTo: 99, name: "b4", label: "30–99" },
  { upTo: Infinity, name: "b5", label: "100+" },
];

// Beyond so many nodes the names stand upright and the card takes the whole width.
const CROWDED_NODES = 10;

const classOf = (behind) => CLASSES.find((one) => behind <= one.upTo).name;

function cell(feed, node, behind) {
  const own = feed.owner === node.node;
  const state = behind === 0 ? "has everything" : `lacks ${many(behind, "entry", "entries")}`;
  return h(
    "td",
    {
      class: `${classOf(behind)}${own ? " own" : ""}`,
      title: `${node.label} ${state} of ${feed.label}${own ? " (its own feed)" : ""}`,
      "data-feed": feed.feed,
      "data-node": node.node,
      text: count(behind),
    },
  );
}

function row(feed, nodes, behind) {
  const sum = behind.reduce((total, one) => total + one, 0);
  return h(
    "tr",
    {},
    h("th", { scope: "row", title: `feed ${feed.feed}` }, h("span", { class: feed.owner ? "" : "mono", text: feed.label })),
    h("td", { class: "side", title: `${many(feed.newest, "entry", "entries")} published`, text: count(feed.newest) }),
    ...nodes.map((node, index) => cell(feed, node, behind[index])),
    h("td", { class: `side sum${sum ? " some" : ""}`, text: count(sum) }),
  );
}

export function renderHeatmap(target, legend, card, snapshot) {
  const { nodes, feeds, behind, hidden } = snapshot;
  const crowded = nodes.length > CROWDED_NODES;
  card.classList.toggle("wide", crowded);
  const head = [
    h("th", { scope: "col", class: "corner", text: "feed" }),
    h("th", { scope: "col", class: "side", title: "entries published", text: "entries" }),
    ...nodes.map((node) => h("th", { scope: "col", title: `node ${node.node}` }, h("span", { text: node.label }))),
    h("th", { scope: "col", class: "side", text: "sum" }),
  ];
  target.replaceChildren(
    table({
      caption: "Entries behind, by feed and node",
      className: `heat${crowded ? " crowded" : ""}`,
      head,
      rows: feeds.map((feed, index) => row(feed, nodes, behind[index])),
    }),
  );
  const keys = CLASSES.map((one) => swatch(one.name, one.label));
  const note = [];
  if (hidden.feeds) note.push(many(hidden.feeds, "more feed"));
  if (hidden.nodes) note.push(many(hidden.nodes, "more node"));
  legend.replaceChildren(
    h("span", { class: "lead", text: "entries behind" }),
    ...keys,
    swatch("own", "the node’s own feed"),
    note.length ? h("span", { class: "note", text: `${note.join(" and ")} not shown (least behind)` }) : "",
  );
}
