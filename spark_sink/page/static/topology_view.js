// A view of which nodes hear which, up to the cursor: what its graph and its tables have in common.

export const PATH = "/api/topology";

export class TopologyView {
  constructor(context) {
    this.context = context;
  }

  /** Time parameters of what is asked for: up to the cursor, or the whole range. */
  moment() {
    const { at } = this.context.range;
    return at === null ? {} : { to: at };
  }

  /** Loads and returns the nodes and links. */
  async load() {
    const body = await this.context.load(PATH, this.moment());
    this.atUs = this.context.range.at ?? body.to_us;
    this.byId = new Map(body.nodes.map((one) => [one.node, one]));
    return body;
  }

  node(id) {
    return this.byId.get(id) ?? { node: id, label: id.slice(0, 8) };
  }

  name(id) {
    return this.node(id).label;
  }

  /** The node that is chosen; null if it is not there. */
  get chosen() {
    const node = this.context.get("node");
    return this.byId.has(node) ? node : null;
  }
}
