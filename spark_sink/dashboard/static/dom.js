// Building elements without innerHTML: node names come from strangers' logs and must never be markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** An HTML element; `text` in attributes is its text, null children are left out. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element, same rules. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export const byId = (id) => document.getElementById(id);

/** A table with a caption for screen readers, head cells and rows. */
export function table({ caption, className, head, rows }) {
  return h(
    "table",
    { class: className },
    h("caption", { class: "unseen", text: caption }),
    h("thead", {}, h("tr", {}, ...head)),
    h("tbody", {}, ...rows),
  );
}

/** A coloured swatch with its word, for legends. */
export function swatch(className, text) {
  return h("span", { class: "key" }, h("i", { class: `swatch ${className}` }), text);
}
