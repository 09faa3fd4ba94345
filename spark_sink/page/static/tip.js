// The one floating label of the page.

import { byId, setText } from "./dom.js";

const EDGE_PX = 8;

/** Shows `text` above the point (in pixels of the window), moved sideways to stay inside. */
export function showTip(text, x, y) {
  const tip = byId("tip");
  setText(tip, text);
  tip.hidden = false;
  const half = tip.offsetWidth / 2;
  const right = document.documentElement.clientWidth - half - EDGE_PX;
  tip.style.left = `${Math.max(half + EDGE_PX, Math.min(right, x)) + window.scrollX}px`;
  tip.style.top = `${Math.max(tip.offsetHeight + EDGE_PX, y) + window.scrollY}px`;
}

export function hideTip() {
  byId("tip").hidden = true;
}
