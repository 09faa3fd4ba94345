// Columns of lists of nodes: state, what they lack, delays, airtime against the law, clock.

import { h, nodeLink } from "./dom.js";
import { count, dayTime, isAhead, many, moment, offset, percent, ppm, recordAge, span } from "./format.js";

const HOUR_US = 3_600e6;

/** Bar of how much of what the law allows was sent in the last hour, with both as numbers. */
export function airtimeCell(node) {
  const share = node.airtime_us / HOUR_US;
  if (!node.limit_ppm) return h("span", {}, percent(share), h("span", { class: "soft", text: " no limit" }));
  const used = share / (node.limit_ppm / 1e6);
  const bar = h("i", { class: `used${used > 1 ? " beyond" : used > 0.8 ? " near" : ""}`, "aria-hidden": "true" }, h("b"));
  bar.firstChild.style.width = `${Math.min(100, used * 100)}%`;
  return h("span", { class: "share" }, bar, h("span", {}, percent(share), h("span", { class: "soft", text: ` of ${ppm(node.limit_ppm)}` })));
}

export const airtimeText = (node) => `${node.airtime_us}/${node.limit_ppm}`;

/** What a node is doing, in a word or two: [text, class]. */
export function nodeState(node, asOfUs) {
  if (!node.running) return [`stopped ${dayTime(node.last_us)}`, "warn"];
  if (node.isolated_since_us) return [`alone since ${dayTime(node.isolated_since_us)}`, "warn"];
  if (!asOfUs) return ["running", ""];
  const ageUs = asOfUs - node.last_us;
  return [recordAge(ageUs), isAhead(ageUs) ? "warn" : ""];
}

function dot(node) {
  const name = !node.running ? "stopped" : node.isolated_since_us ? "isolated" : "running";
  return h("span", { class: `state ${name}`, role: "img", "aria-label": name, title: name });
}

/** Columns of the nodes' table; `asOf()` is the newest record's time. */
export const nodeColumns = (asOf) => [
  { key: "node", label: "node", head: true, value: (row) => row.label, text: (row) => `${row.label}${row.running}${row.isolated_since_us}`, cell: (row) => h("span", {}, dot(row), nodeLink(row)) },
  { key: "behind", label: "lacks", num: true, title: "messages it lacks", value: (row) => row.behind, text: (row) => count(row.behind), className: (row) => (row.behind ? "warn" : "") },
  { key: "median", label: "half within", num: true, title: "delay from publication to arrival: half of the copies came sooner", value: (row) => row.delay_median_us, text: (row) => span(row.delay_median_us), tip: (row) => (row.delay_count ? `of ${many(row.delay_count, "copy", "copies")}` : "nothing arrived from others in this range") },
  { key: "p95", label: "95 % within", num: true, title: "delay from publication to arrival: 95 of 100 copies came sooner", value: (row) => row.delay_p95_us, text: (row) => span(row.delay_p95_us) },
  { key: "airtime", label: "airtime, last hour", title: "airtime in the last hour, as a share of what the law allows", value: (row) => row.airtime_us, text: airtimeText, cell: airtimeCell, tip: (row) => [row.region, row.sub_band, row.window_us ? `in any ${span(row.window_us)}` : null].filter(Boolean).join(", ") },
  { key: "clock", label: "clock", num: true, title: "its clock minus mesh time", value: (row) => (row.clock_offset_us === null ? null : Math.abs(row.clock_offset_us)), text: (row) => offset(row.clock_offset_us), tip: clockTip },
  { key: "last", label: "last record", num: true, value: (row) => row.last_us, text: (row) => nodeState(row, asOf())[0], className: (row) => nodeState(row, asOf())[1], tip: (row) => moment(row.last_us) },
];

function clockTip(row) {
  if (row.clock_offset_us === null || row.clock_offset_us === undefined) return "not related to the others’ clocks yet: too few packets heard in common";
  const parts = [`± ${span(row.clock_error_us)}`];
  if (row.clock_drift_ppm !== null && row.clock_drift_ppm !== undefined) parts.push(`drifts ${row.clock_drift_ppm.toFixed(1)} ppm`);
  return parts.join(", ");
}
