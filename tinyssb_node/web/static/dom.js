// Elements without markup: names and texts come from strangers and are only ever text.

/** Creates an HTML element; `text` in attributes is its text, `onclick` a listener; null and false children are left out. */
export function h(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Puts `text` into the element if it is not there yet, so that a screen reader does not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Does the same for text with elements in it. */
export function setParts(element, parts) {
  const made = h("span", {}, ...parts);
  if (element.textContent !== made.textContent) element.replaceChildren(...made.childNodes);
}

/** Makes `nodes` the children of `parent`, moving only those out of place: focus and selection stay. */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let here = parent.firstElementChild;
  for (const node of nodes) {
    if (node === here) here = here.nextElementSibling;
    else parent.insertBefore(node, here);
  }
}

/** Lets a screen reader announce `text`. */
export function announce(text) {
  setText(byId("announcer"), text);
}
