// Nodes: what each is doing, and what went wrong.

import { card, h, setText } from "../dom.js";
import { many } from "../format.js";
import { nodeColumns } from "../node_columns.js";
import { Sections } from "../sections.js";
import { begin } from "../states.js";
import { csvLink, Table } from "../table.js";

const PARTS = [
  { name: "faults", title: "Faults", about: "alerts over time, restarts, invalid packets, forks, gaps in the logs", load: () => import("./faults.js") },
];

export const title = () => "Nodes";

export const show = (root, context) => begin(new NodesTab(root, context));

class NodesTab {
  constructor(root, context) {
    this.context = context;
    this.drawn = null;
    this.nodes = card({ id: "nodes", title: "Nodes", wide: true, sub: "How many messages each lacks, how fast they arrive there, its airtime and its clock.", tools: [csvLink(() => context.csv("/api/overview", { table: "nodes" }))] });
    this.table = new Table({
      caption: "Nodes", columns: nodeColumns(() => this.drawn?.as_of_us), key: (row) => row.node, sort: "-behind",
      empty: "A row appears here for each node whose log is read: put it into the folder that tinyssb-sink follows.",
      state: { get: () => context.get("sort-nodes"), set: (text) => context.set({ "sort-nodes": text }, { replace: true }) },
    });
    this.nodes.body.append(this.table.element);
    root.append(h("div", { class: "grid" }, this.nodes.element));
    this.sections = new Sections(root, context, PARTS);
  }

  async update(change) {
    await Promise.all([this.list(change), this.sections.update(change)]);
  }

  async list({ kind }) {
    if (kind === "theme") return;
    const data = await this.context.load("/api/overview");
    if (data === this.drawn) {
      if (kind === "query") this.table.draw();
      return;
    }
    this.drawn = data;
    this.table.set(data.nodes);
    const hidden = data.hidden?.nodes ?? 0;
    setText(this.nodes.footer, hidden ? `${many(hidden, "more node")} not shown: those least behind.` : "");
  }

  close() {
    this.sections.close();
  }
}
