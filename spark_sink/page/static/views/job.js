// The job itself: how far it is behind the logs, how fast it reads, and the time of its batches and refreshes.

import { LineChart, pngButton } from "../charts.js";
import { card, facts, h, setText } from "../dom.js";
import { bytes, count, dayClock, many, short, span, time } from "../format.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";

const SECOND_US = 1e6;
const ROWS_SHOWN = 100;

export const title = () => "The job";

/** Shows the latest batches, whatever the range. */
export const ranged = false;

export const show = (root, context) => begin(new Job(root, context));

class Job {
  constructor(root, context) {
    this.context = context;
    this.drawn = null;
    this.facts = h("div", { class: "summary" });
    this.took = this.curve("took", "Time of a batch", "Reading logs and computing, then writing to the database.", "s", {
      label: "Time each batch took",
      series: [{ label: "reading", fill: true }, { label: "database", colour: "--s3" }],
      value: (s) => span(s * SECOND_US),
      axis: (s) => `${short(s)} s`,
      top: 0.1,
    });
    this.rate = this.curve("rate", "Records", "Records a second, of each batch.", "records", {
      label: "Records a second, of each batch",
      series: [{ label: "records a second", fill: true }],
      value: (n) => `${short(n)} records a second`,
      axis: (n) => `${short(n)}/s`,
    });
    this.batches = this.list("batches", "Batches", "What each added to the database.", [
      { key: "committed", label: "committed", head: true, value: (row) => row.committed_us, text: (row) => String(row.committed_us), cell: (row) => time(row.committed_us, dayClock) },
      { key: "records", label: "records", num: true, value: (row) => row.records, text: (row) => count(row.records) },
      { key: "bytes", label: "size", num: true, value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
      { key: "behind", label: "still to be read", num: true, value: (row) => row.behind_bytes ?? null, text: (row) => bytes(row.behind_bytes) },
      { key: "read", label: "reading", num: true, value: (row) => row.read_us, text: (row) => span(row.read_us) },
      { key: "merge", label: "database", num: true, value: (row) => row.merge_us, text: (row) => span(row.merge_us) },
    ], "No batch has been committed yet.");
    this.refreshes = this.list("refreshes", "Refreshes", "Hours of derived figures that were computed again.", [
      { key: "committed", label: "committed", head: true, value: (row) => row.committed_us, text: (row) => String(row.committed_us), cell: (row) => time(row.committed_us, dayClock) },
      { key: "hours", label: "hours", num: true, value: (row) => row.hours, text: (row) => count(row.hours) },
      { key: "sights", label: "sights", num: true, title: "records of packets and arrivals that were read", value: (row) => row.sights, text: (row) => count(row.sights) },
      { key: "wall", label: "took", num: true, value: (row) => row.wall_us, text: (row) => span(row.wall_us) },
      { key: "waiting", label: "hours waiting", num: true, value: (row) => row.waiting, text: (row) => count(row.waiting) },
    ], "No derived figures yet.");
    root.append(this.facts, h("div", { class: "grid" }, this.took.card.element, this.rate.card.element, this.batches.card.element, this.refreshes.card.element));
  }

  curve(id, heading, sub, _unit, settings) {
    const made = card({ id, title: heading, sub });
    const box = h("div", { class: "chart" });
    made.body.append(box);
    const chart = new LineChart(box, { ...settings, empty: "A line needs two batches; there are fewer." });
    made.tools.append(pngButton(() => chart.canvas(), `job-${id}`, () => heading));
    if (settings.series.length > 1) made.footer.append(h("div", { class: "legend" }, ...settings.series.map((one, index) => h("span", { class: "key" }, h("i", { class: `swatch kind-${one.colour ? one.colour.slice(3) : index + 1}` }), one.label))));
    return { card: made, chart };
  }

  list(id, heading, sub, columns, empty) {
    const made = card({ id, title: heading, sub });
    const table = new Table({ caption: heading, columns, key: (row) => row.place, empty, sort: "-committed" });
    made.body.append(table.element);
    made.tools.append(csvLink(() => this.context.csv("/api/job", { table: id })));
    return { card: made, table };
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load("/api/job");
    if (data === this.drawn) return;
    this.drawn = data;
    const { meta } = data;
    const words = data.behind_bytes === null ? "The job has committed nothing yet" : "The job has read all logs";
    this.context.heading(data.behind_bytes > 0 ? `The job has ${bytes(data.behind_bytes)} of logs still to read` : words, { windowTitle: "The job" });
    this.head(data, meta);
    const batches = byTime(data.batches);
    const times = batches.map((one) => one.committed_us);
    this.took.chart.set(times, batches.map((one) => one.read_us / SECOND_US), batches.map((one) => one.merge_us / SECOND_US));
    this.rate.chart.set(times, batches.map(rateOf));
    this.batches.table.set(latest(batches));
    this.refreshes.table.set(latest(byTime(data.refreshes)));
    this.more(this.batches, batches.length);
    this.more(this.refreshes, data.refreshes.length);
  }

  more({ card: made }, all) {
    setText(made.footer, all > ROWS_SHOWN ? `The latest ${ROWS_SHOWN} of the ${count(all)} that are drawn.` : "");
  }

  head(data, meta) {
    this.facts.replaceChildren(facts([
      ["lag, newest record to commit", span(data.lag_us)],
      ["still to be read", bytes(data.behind_bytes)],
      ["records", count(data.records)],
      ["records a second, lately", short(data.rate)],
      ["last committed", time(data.committed_us)],
      meta?.program ? ["program", String(meta.program)] : null,
      meta?.version ? ["database version", String(meta.version)] : null,
      meta?.changes ? ["transactions", count(Number(meta.changes))] : null,
      ["waiting to be refreshed", many(data.dirty_hours, "hour")],
    ]));
  }

  close() {
    this.took.chart.close();
    this.rate.chart.close();
  }
}

const byTime = (rows) => [...rows].sort((a, b) => a.committed_us - b.committed_us);
/** Batches that were committed in the same microsecond keep their order. */
const latest = (rows) => rows.map((row, index) => ({ ...row, place: `${row.committed_us} ${index}` })).slice(-ROWS_SHOWN);

function rateOf({ records, read_us: read, merge_us: merge }) {
  return read + merge > 0 ? records / ((read + merge) / SECOND_US) : null;
}
