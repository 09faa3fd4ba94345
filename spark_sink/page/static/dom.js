// Building elements without innerHTML: names come from strangers' logs and must never be markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element; `text` in attributes is its text, `onclick` a listener; null and false children are left out. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element, same rules. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export const byId = (id) => document.getElementById(id);

/** Puts `text` into the element if it is not there yet: no work for the browser where nothing changed. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A coloured swatch with its word, for legends. */
export function swatch(className, text) {
  return h("span", { class: "key" }, h("i", { class: `swatch ${className}` }), text);
}

/** Link to a node's page; `node` is {node, label}. Null (unknown) gives a dash. */
export function nodeLink(node) {
  if (!node?.node) return h("span", { class: "soft", text: "–" });
  return h("a", { href: `/node/${node.node}`, title: `node ${node.node}` }, h("bdi", { text: node.label || node.node.slice(0, 8) }));
}

/** Link to a feed's page; `feed` is {feed, label}. */
export function feedLink(feed) {
  if (!feed?.feed) return h("span", { class: "soft", text: "–" });
  return h("a", { href: `/feed/${feed.feed}`, title: `feed ${feed.feed}` }, h("bdi", { text: feed.label || feed.feed.slice(0, 8) }));
}

/** Link to the journey of one entry: its feed's label and its number. */
export function messageLink(feed, seq) {
  return h("a", { href: `/message/${feed.feed}/${seq}`, title: `entry ${seq} of feed ${feed.feed}` }, h("bdi", { text: feed.label || feed.feed.slice(0, 8) }), h("span", { class: "soft", text: ` #${seq}` }));
}

/**
 * A card: heading, one line that says what is drawn, tools on the right, a body and a footer.
 * Returns {element, body, footer, sub, tools}; put things into these.
 */
export function card({ id, title, sub = "", wide = false, tools = [] }) {
  const line = h("p", { text: sub });
  const body = h("div", { class: "body" });
  const footer = h("footer");
  const bar = h("div", { class: "tools" }, ...tools);
  const element = h(
    "section",
    { class: `card${wide ? " wide" : ""}`, id, "aria-labelledby": `${id}-title` },
    h("header", {}, h("div", {}, h("h2", { id: `${id}-title`, text: title }), line), bar),
    body,
    footer,
  );
  return { element, body, footer, sub: line, tools: bar };
}

/** A small button in a card's header. */
export function tool(text, onclick, title = null) {
  return h("button", { type: "button", class: "tool", title, text, onclick });
}

/** A group of buttons of which one is pressed: `choices` [[value, text]…]. Returns {element, set}. */
export function choice(label, choices, value, onchoose) {
  const buttons = choices.map(([one, text]) =>
    h("button", { type: "button", "data-value": one, text, onclick: () => { set(one); onchoose(one); } }));
  const set = (wanted) => buttons.forEach((button) => button.setAttribute("aria-pressed", button.dataset.value === wanted));
  set(value);
  return { element: h("div", { class: "switch", role: "group", "aria-label": label }, ...buttons), set };
}

/** A box that scrolls by itself and can be reached with the keyboard. */
export function scroller(label, ...children) {
  return h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, ...children);
}

/** Figures as a list of terms: rows [[term, text or element]…], null ones left out. */
export function facts(rows) {
  return h("dl", { class: "facts" }, ...rows.filter(Boolean).map(([term, value]) => h("div", {}, h("dt", { text: term }), h("dd", {}, value))));
}
