// Efficiency of gossip: requests, replies, redundant replies, and suppressed ones.

import { card, facts, h, nodeLink, setText } from "../dom.js";
import { count, percent, time } from "../format.js";
import { stack } from "../stack.js";
import { csvLink, Table } from "../table.js";

const PATH = "/api/gossip";
/** Names, order and colours of what became of answers. */
const ANSWERS = [
  ["answers_new", "new to a receiver", "s1"],
  ["answers_redundant", "redundant", "s3"],
  ["answers_unheard", "unheard", "s5"],
];

const share = (part, whole) => (whole ? part / whole : null);

export async function show(root, context) {
  const all = card({ id: "all", title: "The whole mesh", wide: true, sub: "Nodes advertise what they have, and request what they lack. A node that can reply does so, unless another node replied first." });
  const byNode = card({ id: "nodes", title: "By node", wide: true, tools: [csvLink(() => context.csv(PATH))] });
  const table = makeTable(context);
  byNode.footer.className = "legend";
  byNode.footer.append(...ANSWERS.map(([, words, name]) => h("span", { class: "key" }, h("i", { class: `swatch kind-${name}` }), `sent, ${words}`)));
  byNode.body.append(table.element);
  root.append(h("div", { class: "grid" }, all.element, byNode.element));

  async function update({ kind }) {
    if (kind === "theme") return;
    const body = await context.load(PATH);
    all.body.replaceChildren(summary(body.all));
    setText(byNode.sub, "Requests and replies of each node, and the replies that were of use.");
    table.set(body.nodes);
  }

  await update({ kind: "query" });
  return { update, close() {} };
}

function summary(total) {
  const hint = (text) => h("span", { class: "hint", text });
  const figure = (value, words) => h("span", {}, value, " ", hint(words));
  return facts([
    ["questions sent", figure(count(total.wants_sent + total.chnks_sent), `${count(total.wants_sent)} WANT, ${count(total.chnks_sent)} CHNK`)],
    ["entries and chunks requested", figure(count(total.places_asked), total.wants_sent + total.chnks_sent ? `${(total.places_asked / (total.wants_sent + total.chnks_sent)).toFixed(1)} a question` : "")],
    ["entries and chunks sent", figure(count(total.answers_sent), `${percent(share(total.answers_new, total.answers_sent))} new to a receiver`)],
    ["redundant answers", figure(count(total.answers_redundant), `${percent(share(total.answers_redundant, total.answers_sent))} of all: every receiver had it already`)],
    ["answers spared", figure(count(total.spared), "another node had replied first")],
    ["repairs of the set", figure(count(total.set_packets), `packets; sets grew ${count(total.set_grown)} times`)],
    ["agreed on the set", total.agreed_us === null ? figure("not yet", "a node has another set of feeds than most") : figure(time(total.agreed_us), "when the last node reached the set that most have")],
  ]);
}

function makeTable(context) {
  const number = (key, label, heading) => ({ key, label, title: heading, num: true, value: (row) => row[key], text: (row) => count(row[key]) });
  const bar = (row) => {
    const parts = ANSWERS.map(([key, words, name]) => ({ class: `kind-${name}`, share: share(row[key], row.answers_sent) ?? 0, title: `${count(row[key])} ${words}` }));
    return stack(parts, `${row.label}: ${parts.map((part) => part.title).join(", ")}`);
  };
  const columns = [
    { key: "node", label: "node", head: true, value: (row) => row.label, cell: nodeLink },
    number("wants_sent", "WANT sent", "requests for entries"),
    number("chnks_sent", "CHNK sent", "requests for chunks"),
    number("places_asked", "places asked", "entries and chunks it requested"),
    number("wants_heard", "WANT heard", "requests of others that it received and understood"),
    number("chnks_heard", "CHNK heard", "the same for chunks"),
    number("answers_sent", "sent", "entries and chunks it sent"),
    { key: "use", label: "of use", className: "bars", text: (row) => `${row.answers_sent} ${row.answers_new} ${row.answers_redundant}`, cell: bar },
    { key: "redundant", label: "redundant", num: true, title: "share of what it sent that all receivers had already", value: (row) => share(row.answers_redundant, row.answers_sent), text: (row) => percent(share(row.answers_redundant, row.answers_sent)) },
    number("spared", "spared", "replies it suppressed because another node gave them first"),
    number("set_packets", "set packets", "packets about the set of feeds"),
    { key: "agreed", label: "agreed since", num: true, title: "since when it has the set of feeds that most nodes have", value: (row) => row.agreed_us, text: (row) => String(row.agreed_us), cell: (row) => (row.agreed_us === null ? h("span", { class: "warn", text: "not yet" }) : time(row.agreed_us)) },
  ];
  return new Table({
    caption: "Gossip by node", columns, key: (row) => row.node, sort: "-answers_sent", empty: "No requests or replies in this period. Choose a longer one above.",
    state: { get: () => context.get("sort-gossip"), set: (text) => context.set({ "sort-gossip": text }, { replace: true }) },
  });
}
