// Puts each snapshot on the page. A card is drawn again only if its own part of the snapshot changed,
// so that reading, hovering and scrolling are not disturbed by news elsewhere.

import { Connection } from "./connection.js";
import { Convergence } from "./convergence.js";
import { byId, h } from "./dom.js";
import { age, clock, count, many, percent, wholeSpan } from "./format.js";
import { renderHeatmap } from "./heatmap.js";
import { Links } from "./links.js";
import { renderNodes, renderRecent } from "./lists.js";
import { renderAirtime, renderTraffic } from "./traffic.js";

const OLD_NEWS_US = 60e6;

const convergence = new Convergence(byId("convergence"), byId("convergence-summary"));
const links = new Links(byId("links"), byId("links-legend"));
const drawn = new Map();
let latest = null;
let link = "connecting";

/** Calls `draw` if `parts` differ from what the card was last drawn from. */
function card(name, parts, draw) {
  const key = JSON.stringify(parts);
  if (drawn.get(name) === key) return;
  drawn.set(name, key);
  draw();
}

function headline(snapshot) {
  const { totals } = snapshot;
  const copies = totals.entries * totals.nodes;
  const held = copies - totals.behind;
  const share = copies === 0 ? 1 : held / copies;
  const state = totals.entries === 0
    ? "Nothing published yet"
    : totals.behind === 0
      ? totals.nodes === 1 ? "One node, with everything it knows of" : "Everybody has everything"
      : `${many(totals.behind, "entry", "entries")} behind on ${many(totals.behind_nodes, "node")}`;
  byId("hero").dataset.state = totals.behind === 0 ? "whole" : "behind";
  byId("headline").textContent = state;
  byId("counts").replaceChildren(
    ...[many(totals.nodes, "node"), many(totals.feeds, "feed"), many(totals.entries, "entry", "entries"), `${count(held)} of ${many(copies, "copy", "copies")} in place`]
      .map((text) => h("span", { text })),
  );
  const meter = byId("meter");
  meter.firstElementChild.style.width = `${share * 100}%`;
  meter.setAttribute("aria-label", `${percent(share)} of all copies are in place`);
  document.title = `${totals.behind === 0 ? "✓" : `${count(totals.behind)} behind`} · tinySSB mesh`;
  alerts(totals);
}

function alerts(totals) {
  const words = [];
  const stopped = totals.nodes - totals.running;
  if (stopped) words.push(`${many(stopped, "node")} stopped`);
  if (totals.forks) words.push(`${many(totals.forks, "feed")} forked: one key signed two different entries for one place`);
  if (totals.bad_lines) words.push(`${many(totals.bad_lines, "line")} of the logs could not be read; see tinyssb-sink report`);
  byId("alerts").hidden = words.length === 0;
  byId("alerts").replaceChildren(...words.map((text) => h("span", { text })));
}

const STEPS = {
  empty: ["See it move, with no hardware", "make demo"],
  missing: ["See it move, with no hardware", "make demo"],
};
const TITLES = { empty: "Waiting for the first log", missing: "No database yet", unreadable: "This database cannot be shown" };

function emptyState(snapshot) {
  byId("empty-title").textContent = TITLES[snapshot.state];
  byId("empty-message").textContent = snapshot.message;
  byId("empty").dataset.state = snapshot.state;
  const steps = snapshot.state === "unreadable" ? [] : [
    ["Follow the logs of your nodes as they are written", "tinyssb-sink run LOGS --db FILE"],
    ["Read once what there is", "tinyssb-sink backfill LOGS --db FILE"],
    STEPS[snapshot.state],
  ];
  byId("empty-steps").replaceChildren(
    ...steps.map(([what, command]) => h("div", { class: "step" }, h("p", { text: what }), h("code", { text: command }))),
    steps.length ? h("p", { class: "after", text: "LOGS is the folder that holds one folder of events per node, FILE the database this page was started with. The page fills by itself." }) : "",
  );
  document.title = "tinySSB mesh";
}

function render(snapshot) {
  latest = snapshot;
  const ready = snapshot.state === "ready";
  byId("hero").hidden = byId("cards").hidden = !ready;
  byId("empty").hidden = ready;
  if (ready) renderCards(snapshot);
  else card("empty", [snapshot.state, snapshot.message], () => emptyState(snapshot));
  tick();
}

function renderCards(snapshot) {
  const { totals, nodes, feeds, behind, hidden, traffic, recent, as_of_us } = snapshot;
  const who = nodes.map((node) => [node.node, node.label, node.running]);
  drawn.delete("empty");
  card("headline", totals, () => headline(snapshot));
  card("heat", [who, feeds, behind, hidden], () => renderHeatmap(byId("heat"), byId("heat-legend"), byId("heat-card"), snapshot));
  card("convergence", snapshot.convergence, () => convergence.update(snapshot.convergence));
  card("links", [who, snapshot.links, as_of_us], () => links.update(snapshot));
  card("traffic", traffic, () => renderTraffic(byId("traffic"), byId("traffic-legend"), byId("traffic-window"), traffic));
  card("airtime", [nodes, traffic.since_us, traffic.until_us], () => renderAirtime(byId("airtime"), nodes, traffic));
  card("nodes", [nodes, as_of_us], () => renderNodes(byId("nodes"), snapshot));
  card("recent", [who, recent], () => renderRecent(byId("recent"), snapshot));
}

function tick() {
  const pill = byId("connection");
  const words = { connecting: "Connecting…", lost: "Connection lost, trying again…" };
  let state = link;
  let text = words[link];
  if (link === "live") {
    const newsUs = latest?.committed_us ?? latest?.as_of_us ?? null;
    const old = newsUs !== null && stream.ageOf(newsUs) > OLD_NEWS_US;
    state = old ? "quiet" : "live";
    text = newsUs === null ? "Live, no data yet" : old ? `No news for ${wholeSpan(stream.ageOf(newsUs))}` : `Live, updated ${age(stream.ageOf(newsUs))}`;
  }
  if (pill.dataset.state !== state) pill.dataset.state = state;
  if (byId("connection-text").textContent !== text) byId("connection-text").textContent = text;
  byId("as-of").textContent = latest?.as_of_us ? `Figures as of ${clock(latest.as_of_us)}, the newest record of any node. Times come from the nodes’ own clocks.` : "";
}

const stream = new Connection(render, (state) => {
  link = state;
  document.body.classList.toggle("lost", state === "lost");
  tick();
});
setInterval(tick, 1_000);
