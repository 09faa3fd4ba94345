// One node: its state, missing entries, links in both directions, boots, clocks, faces and incidents.

import { facts, feedLink, h, nodeLink } from "../dom.js";
import { bytes, count, isAhead, many, offset, percent, recordAge, shortId, span, time } from "../format.js";
import { incidentWords, lawWords, linkColumns, ListCard, numberColumn, textColumn, timeColumn } from "../lists.js";
import { kindName, verdictName } from "../kinds.js";
import { begin } from "../states.js";
import { airtimeCell } from "../node_columns.js";

const DIRECTIONS = { rx: "heard", tx: "sent" };

export const title = ({ node }) => `Node ${shortId(node)}`;

export const show = (root, context) => begin(new NodePage(root, context));

class NodePage {
  constructor(root, context) {
    this.context = context;
    this.node = context.params.node;
    this.drawn = null;
    this.facts = h("div", { class: "summary" });
    const csv = (table) => () => context.csv(`/api/node/${this.node}`, { table });
    const peer = (key) => (row) => ({ node: row[key], label: row.label });
    const list = (table, settings) => new ListCard(context, { ...settings, csv: csv(table) });
    this.lists = {
      feeds_behind: list("feeds_behind", { id: "lacks", title: "What it lacks", sub: "Feeds of which it lacks entries.", sort: "-behind", empty: "It has every known entry.", key: (row) => row.feed, columns: [
        { key: "feed", label: "feed", head: true, value: (row) => row.label, cell: feedLink },
        numberColumn("behind", "behind", "behind", count, { className: "warn" }),
        { key: "has", label: "has", num: true, value: (row) => row.seq, text: (row) => `${count(row.seq)} of ${count(row.newest)}` },
      ] }),
      traffic: list("traffic", { id: "traffic", title: "Packets", sub: "Heard and sent in this range, by kind.", sort: null, empty: "No packets in this range.", key: (row) => `${row.packet} ${row.direction} ${row.verdict}`, columns: [
        textColumn("packet", "kind", (row) => kindName(row.packet), { head: true }),
        textColumn("direction", "direction", (row) => DIRECTIONS[row.direction] ?? row.direction),
        textColumn("verdict", "verdict", (row) => verdictName(row.verdict)),
        numberColumn("packets", "packets"),
        numberColumn("bytes", "size", "bytes", bytes),
        numberColumn("airtime", "airtime", "airtime_us", span),
      ] }),
      hears: list("hears", { id: "hears", title: "Nodes it hears", sub: "Packets of others that it heard.", sort: "-ratio", empty: "It has not heard any node in this range.", key: (row) => row.sender, columns: linkColumns(peer("sender"), nodeLink) }),
      heard_by: list("heard_by", { id: "heard-by", title: "Nodes that hear it", sub: "Its packets that others heard.", sort: "-ratio", empty: "No node has heard it in this range.", key: (row) => row.receiver, columns: linkColumns(peer("receiver"), nodeLink) }),
      boots: list("boots", { id: "boots", title: "Boots", sub: "By its own clock.", sort: "-boot", empty: "No boot has been read.", key: (row) => row.boot, columns: [
        { key: "boot", label: "boot", head: true, value: (row) => row.boot, text: (row) => `#${row.boot}` },
        timeColumn("since", "from", "since_us"),
        timeColumn("until", "newest record", "until_us"),
        textColumn("end", "end", endWords, { className: (row) => (row.clean === false ? "warn" : "") }),
        textColumn("version", "program", (row) => row.version),
        numberColumn("records", "records"),
      ] }),
      clocks: list("clocks", { id: "clocks", title: "Clocks", sub: "Its clock minus mesh time, computed from packets that several nodes heard.", empty: "Nothing is known of its clock yet.", key: (row) => `${row.boot} ${row.era}`, columns: [
        { key: "clock", label: "clock", head: true, value: (row) => row.since_us, text: (row) => `boot #${row.boot}${row.era ? `, after jump ${row.era}` : ""}` },
        { key: "offset", label: "ahead by", num: true, value: (row) => row.offset_us, text: (row) => (row.matches ? offset(row.offset_us) : "unknown") },
        { key: "error", label: "give or take", num: true, value: (row) => row.offset_error_us, text: (row) => (row.matches ? span(Math.round(row.offset_error_us)) : "–") },
        { key: "drift", label: "drift", num: true, title: "microseconds that it gains per second", value: (row) => row.drift_ppm, text: (row) => (row.matches ? `${row.drift_ppm.toFixed(1)} ± ${row.drift_error_ppm.toFixed(1)} ppm` : "–") },
        numberColumn("matches", "matches"),
      ] }),
      faces: list("faces", { id: "faces", title: "Faces", sub: "Its links to others, and the law that limits each.", empty: "No face has been up yet.", key: (row) => row.face, columns: [
        textColumn("face", "face", (row) => row.face, { head: true }),
        textColumn("up", "state", (row) => (row.up ? "up" : "down"), { className: (row) => (row.up ? "" : "warn") }),
        timeColumn("since", "since", "t_us"),
        textColumn("spec", "opened as", (row) => row.spec),
        textColumn("law", "may send", lawWords, { className: "wrap" }),
      ] }),
      incidents: list("incidents", { id: "incidents", title: "Incidents", sub: "Starts, stops, faces, clock jumps, forks and sending that was held back.", sort: "-when", empty: "Nothing happened in this range.", key: (row) => row.place, columns: [
        timeColumn("when", "when", "t_us", { head: true }),
        textColumn("what", "what", incidentWords, { className: "wrap" }),
      ] }),
    };
    const gossip = h("section", { class: "card wide", "aria-labelledby": "gossip-title" }, h("header", {}, h("div", {}, h("h2", { id: "gossip-title", text: "Gossip" }), h("p", { text: "Its requests and replies in this range." }))));
    this.gossip = h("div", { class: "body" });
    gossip.append(this.gossip);
    const column = (...names) => h("div", { class: "column" }, ...names.map((name) => this.lists[name].element));
    root.append(this.facts, h("div", { class: "grid" }, column("feeds_behind", "hears", "heard_by", "incidents"), column("traffic", "boots", "clocks", "faces"), gossip));
  }

  async update({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load(`/api/node/${this.node}`);
    if (data === this.drawn) {
      if (kind === "query") Object.values(this.lists).forEach((one) => one.table.draw());
      return;
    }
    this.drawn = data;
    this.context.heading(`Node ${data.label}`);
    this.head(data);
    for (const [name, list] of Object.entries(this.lists)) list.set(name === "incidents" ? numbered(data.incidents) : data[name]);
    this.asked(data.gossip);
  }

  age(data) {
    if (!data.running) return "";
    const us = this.context.asOfUs - data.last_us;
    return h("span", { class: isAhead(us) ? "warn" : "soft", text: ` ${recordAge(us)}` });
  }

  head(data) {
    const lacks = data.behind ? h("span", { class: "warn", text: `${many(data.behind, "entry", "entries")} behind` }) : "has everything";
    this.facts.replaceChildren(facts([
      ["state", data.running ? (data.isolated_since_us ? h("span", { class: "warn" }, "alone since ", time(data.isolated_since_us)) : "running") : h("span", { class: "warn", text: "stopped" })],
      ["replication", lacks],
      ["last record", h("span", {}, time(data.last_us), this.age(data))],
      ["delay, median and p95", `${span(data.delay_median_us)}, ${span(data.delay_p95_us)}`],
      ["airtime, last hour", airtimeCell(data)],
      ["clock", data.clock_offset_us === null ? "not related to others yet" : `${offset(data.clock_offset_us)} ± ${span(data.clock_error_us)}`],
      data.latitude === null ? null : ["position", h("a", { href: "/", text: `${data.latitude.toFixed(4)}, ${data.longitude.toFixed(4)}` })],
      ["program", data.version ?? "unknown"],
      ["own feed", data.feed ? feedLink({ feed: data.feed, label: shortId(data.feed) }) : "unknown"],
      ["id", h("span", { class: "mono", text: data.node })],
    ]));
  }

  asked(gossip) {
    this.gossip.replaceChildren(facts([
      ["WANT sent / heard", `${count(gossip.wants_sent)} / ${count(gossip.wants_heard)}`],
      ["CHNK sent / heard", `${count(gossip.chnks_sent)} / ${count(gossip.chnks_heard)}`],
      ["entries and chunks requested", count(gossip.places_asked)],
      ["entries and chunks sent", count(gossip.answers_sent)],
      ["new to a receiver", gossip.answers_sent ? `${count(gossip.answers_new)} (${percent(gossip.answers_new / gossip.answers_sent)})` : "–"],
      ["known to all receivers", count(gossip.answers_redundant)],
      ["suppressed: others were first", count(gossip.spared)],
      ["packets about the set", count(gossip.set_packets)],
      gossip.agreed_us ? ["agrees on the set since", time(gossip.agreed_us)] : null,
    ]));
  }

  close() {}
}

const endWords = (row) => (row.clean === null ? "still running" : row.clean ? row.stop_reason ?? "in order" : "not in order");

/** The same incident may occur twice in one microsecond: rows are identified by their position. */
function numbered(rows) {
  const seen = new Map();
  return rows.map((row) => {
    const name = `${row.t_us} ${row.kind} ${row.face} ${row.rule} ${row.seq}`;
    const n = seen.get(name) ?? 0;
    seen.set(name, n + 1);
    return { ...row, place: `${name} ${n}` };
  });
}
