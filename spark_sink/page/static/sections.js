// The parts of a tab. Each is a view of its own; those that few people need are closed, and load when they are opened.
// Which ones are open is in the address (`open=gossip,packets`), so that a link leads to what its sender saw.

import { h } from "./dom.js";

const OPEN = "open";

export class Sections {
  /** `parts` [{name, title?, about?, half?, load()}]: those with a title can be closed; `load` gives a view's module. */
  constructor(root, context, parts) {
    // A part draws under the tab's heading, which is not its own.
    this.context = Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(context), heading: { value: () => {} } });
    this.parts = parts.map((part) => ({ ...part, handle: null, body: h("div", { class: "part-body" }) }));
    root.append(h("div", { class: "parts" }, ...this.parts.map((part) => this.frame(part))));
  }

  frame(part) {
    if (!part.title) return h("div", { class: `part${part.half ? " half" : ""}`, id: `part-${part.name}` }, part.body);
    // The address decides what is open: an update between a press and the browser's `toggle` event would undo it.
    const press = (event) => {
      event.preventDefault();
      this.choose(part.name, !part.element.open);
    };
    // The browser itself opens a part where it finds a word in it.
    const toggle = () => this.choose(part.name, part.element.open);
    part.element = h("details", { class: "part", id: `part-${part.name}`, ontoggle: toggle },
      h("summary", { onclick: press }, h("span", { class: "part-title", text: part.title }), h("span", { class: "soft", text: part.about })), part.body);
    return part.element;
  }

  get opened() {
    return new Set((this.context.get(OPEN, "") ?? "").split(",").filter(Boolean));
  }

  choose(name, open) {
    const chosen = this.opened;
    if (chosen.has(name) === open) return;
    if (open) chosen.add(name);
    else chosen.delete(name);
    this.parts.find((part) => part.name === name).element.open = open;
    this.context.set({ [OPEN]: [...chosen].join(",") }, { replace: true });
  }

  /** Draws the parts that are to be seen; those that are there already are given the change. */
  async update(change) {
    await Promise.all(this.parts.map((part) => this.draw(part, change)));
  }

  async draw(part, change) {
    const open = !part.title || this.opened.has(part.name);
    if (part.element && part.element.open !== open) part.element.open = open;
    if (!open) return;
    if (part.handle) {
      await part.handle.update(change);
      return;
    }
    const { show } = await part.load();
    if (this.context.signal.aborted) return;
    part.body.replaceChildren();
    part.handle = await show(part.body, this.context);
    if (this.context.signal.aborted) this.close();
  }

  close() {
    for (const part of this.parts) {
      part.handle?.close();
      part.handle = null;
    }
  }
}
