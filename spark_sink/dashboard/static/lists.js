// The two lists: nodes, and the latest entries.

import { h, table } from "./dom.js";
import { age, bytes, clock, count, many, moment, span } from "./format.js";

const heads = (...words) => words.map(([text, className, title]) => h("th", { scope: "col", class: className ?? "", title: title ?? null, text }));

function delay(us, title) {
  return h("td", { class: `num${us !== null && us < 0 ? " odd" : ""}`, title, text: span(us) });
}

function nodeRow(node, asOf) {
  const state = node.running ? "running" : "stopped";
  const sample = node.delay_count ? `of ${many(node.delay_count, "copy", "copies")} of the latest entries${node.delay_median_us < 0 ? "; below zero: the clocks disagree" : ""}` : "nothing arrived from others yet";
  return h(
    "tr",
    {},
    h("th", { scope: "row", title: `node ${node.node}, boot ${node.boot}` }, h("span", { class: `state ${state}`, role: "img", "aria-label": state, title: state }), node.label),
    h("td", { class: `num${node.behind ? " warn" : ""}`, text: count(node.behind) }),
    delay(node.delay_median_us, `median ${sample}`),
    delay(node.delay_p95_us, `95 of 100, ${sample}`),
    h("td", { class: "num", title: moment(node.last_us), text: node.running ? age(asOf - node.last_us) : `stopped ${clock(node.last_us, false)}` }),
  );
}

export function renderNodes(target, snapshot) {
  target.replaceChildren(
    table({
      caption: "Nodes",
      className: "plain",
      head: heads(["node"], ["behind", "num", "entries it lacks"], ["median", "num", "median replication delay"], ["p95", "num", "95th percentile of the replication delay"], ["last record", "num"]),
      rows: snapshot.nodes.map((node) => nodeRow(node, snapshot.as_of_us)),
    }),
  );
}

function dots(entry, nodes) {
  const held = new Set(entry.held_by);
  const marks = nodes.map((node) => h("i", { class: held.has(node.node) ? "mark-held" : "mark-lacks" }));
  const lacking = nodes.filter((node) => !held.has(node.node)).map((node) => node.label);
  const words = lacking.length ? `not yet at ${lacking.join(", ")}` : "at every node";
  const total = nodes.length;
  return h(
    "td",
    { class: "reach", title: words },
    total <= 12 ? h("span", { class: "dots", "aria-hidden": "true" }, ...marks) : null,
    h("span", { class: held.size < total ? "warn" : "", text: `${held.size} of ${total}` }),
  );
}

function entryRow(entry, snapshot, labels) {
  const known = labels.feeds.get(entry.feed) ?? entry.feed.slice(0, 8);
  const everywhere = entry.held_by.length === snapshot.nodes.length && entry.reached_us !== null;
  const size = entry.chunks ? `${bytes(entry.size)}, ${many(entry.chunks, "chunk")}` : bytes(entry.size);
  const when = entry.publisher === null ? "first seen" : "published";
  return h(
    "tr",
    {},
    h("th", { scope: "row", title: `feed ${entry.feed}\nmessage id ${entry.id}` }, known, h("span", { class: "seq", text: ` #${entry.seq}` })),
    h("td", { class: "num size", text: size }),
    h("td", { class: "num", title: `${when} ${moment(entry.t_us)}`, text: clock(entry.t_us) }),
    dots(entry, snapshot.nodes),
    h("td", { class: "num", title: everywhere ? "until the last node had it" : "not everywhere yet", text: everywhere ? span(entry.reached_us - entry.t_us) : "–" }),
  );
}

export function renderRecent(target, snapshot) {
  if (snapshot.recent.length === 0) {
    target.replaceChildren(h("p", { class: "nothing", text: "Nothing published yet." }));
    return;
  }
  const labels = { feeds: new Map(snapshot.feeds.map((feed) => [feed.feed, feed.label])) };
  target.replaceChildren(
    table({
      caption: "Latest entries",
      className: "plain",
      head: heads(["entry"], ["size", "num size"], ["published", "num"], ["arrived at", "reach"], ["took", "num", "until the last node had it"]),
      rows: snapshot.recent.map((entry) => entryRow(entry, snapshot, labels)),
    }),
  );
}
