// Cards that hold one table, and columns that several views share.

import { card, setText } from "./dom.js";
import { count, dayTime, decibels, many, percent, ppm, span, time } from "./format.js";
import { csvLink, Table } from "./table.js";

/** A column of moments that sorts by them. */
export const timeColumn = (key, label, field = key, more = {}) => ({ key, label, value: (row) => row[field], text: (row) => `${row[field]}`, cell: (row) => time(row[field], dayTime), ...more });

/** A column of numbers; `words` says them. */
export const numberColumn = (key, label, field = key, words = count, more = {}) => ({ key, label, num: true, value: (row) => row[field] ?? null, text: (row) => words(row[field]), ...more });

/** A column of words. */
export const textColumn = (key, label, value, more = {}) => ({ key, label, value, text: (row) => value(row) ?? "–", ...more });

/** Columns of a link; `peer(row)` is {node, label} of the other end. */
export const linkColumns = (peer, peerLink) => [
  { key: "node", label: "node", head: true, value: (row) => peer(row).label, cell: (row) => peerLink(peer(row)) },
  { key: "ratio", label: "delivered", num: true, title: "share of the packets sent while the receiver was up", value: (row) => row.ratio, text: (row) => `${percent(row.ratio)} of ${count(row.sent)}`, tip: (row) => `${many(row.heard, "packet")} heard` },
  numberColumn("rssi", "RSSI", "rssi_dbm", (n) => decibels(n, "dBm"), { title: "mean of the packets heard" }),
  numberColumn("snr", "SNR", "snr_db", (n) => decibels(n, "dB"), { title: "mean of the packets heard" }),
  timeColumn("last", "last heard", "last_us", { num: true }),
];

/** What the law says about a face, in words. */
export function lawWords({ region, sub_band: band, limit_ppm: limit, window_us: window }) {
  if (limit === null || limit === undefined) return "no limit";
  const where = band?.startsWith(region ?? "") ? band : [region, band].filter(Boolean).join(", ");
  return [where, `${ppm(limit)} of any ${span(window)}`].filter(Boolean).join(", ");
}

/** What kinds of incidents are called. */
const INCIDENTS = {
  start: "started", stop: "stopped", clock: "clock jumped", face_up: "face up", face_down: "face down", fork: "fork", refused: "held back by the airtime limit",
};

/** One incident as a sentence. */
export function incidentWords(row) {
  const parts = [INCIDENTS[row.kind] ?? row.kind];
  if (row.kind === "clock" && row.n !== null) parts.push(`by ${span(row.n)}`);
  else if (row.n) parts.push(many(row.n, "time"));
  if (row.face) parts.push(`on ${row.face}`);
  if (row.rule) parts.push(row.rule);
  if (row.detail) parts.push(row.detail);
  if (row.seq) parts.push(`entry ${row.seq}`);
  return parts.join(", ");
}

/** A card with one sortable table whose sorting is kept in the address. */
export class ListCard {
  constructor(context, { id, title, sub = "", wide = false, columns, key, sort = null, empty, csv = null, rowClass = null }) {
    this.card = card({ id, title, sub, wide });
    const state = { get: () => context.get(`sort-${id}`), set: (text) => context.set({ [`sort-${id}`]: text }, { replace: true }) };
    this.table = new Table({ caption: title, columns, key, sort, empty, state, rowClass });
    this.card.body.append(this.table.element);
    if (csv) this.card.tools.append(csvLink(csv));
    this.element = this.card.element;
  }

  /** Shows the rows; `note` stands below them. */
  set(rows, note = "") {
    this.table.set(rows);
    setText(this.card.footer, note);
  }
}

