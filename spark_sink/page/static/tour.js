// A tour of the tabs in half a minute, at the first visit. Whoever closes it, or comes to its end, is not shown it again.

import { byId, h, setText } from "./dom.js";

const KEPT = "tinyssb-tour"; // in this browser only
const STOPS = [
  ["/", "Mesh", "One sentence says whether every node has every message. Below it: what is missing over time, alerts, where the nodes are, and who hears whom."],
  ["/messages", "Messages", "The latest messages, at which nodes they are, and who lacks what. Click a message to see its way from node to node."],
  ["/airtime", "Airtime", "How long each radio was on the air, against what the law allows, and what that was good for."],
  ["/nodes", "Nodes", "A row for each node: what it lacks, its delays, its clock. Under “Faults”: restarts, invalid packets, gaps in the logs."],
  ["/job", "Job", "How far the program behind this page is with reading the nodes’ logs."],
];

function remembered() {
  try {
    return localStorage.getItem(KEPT) !== null;
  } catch {
    return false; // a browser that keeps nothing shows it again
  }
}

function remember() {
  try {
    localStorage.setItem(KEPT, "seen");
  } catch {
    // see above
  }
}

export class Tour {
  /** `go(path)` opens a tab. */
  constructor(go) {
    this.go = go;
    this.at = 0;
    this.text = h("p", { "aria-live": "polite" });
    this.place = h("span", { class: "soft" });
    this.next = h("button", { type: "button", class: "tool", onclick: () => this.step() });
    const close = h("button", { type: "button", class: "tool", text: "Close the tour", onclick: () => this.end() });
    byId("tour").append(this.text, h("div", { class: "ways" }, this.next, close, this.place));
    byId("tour").addEventListener("keydown", (event) => event.key === "Escape" && this.end());
    byId("tour-again").addEventListener("click", () => this.begin());
    if (!remembered()) this.show();
  }

  begin() {
    this.at = 0;
    this.go(STOPS[0][0]);
    this.show();
    this.next.focus();
  }

  step() {
    this.at += 1;
    if (this.at === STOPS.length) {
      this.end();
      return;
    }
    this.go(STOPS[this.at][0]);
    this.show();
  }

  /** The user has opened another tab by themselves: the tour goes on from there. */
  follow(path) {
    const at = STOPS.findIndex(([one]) => one === path);
    if (byId("tour").hidden || at < 0 || at === this.at) return;
    this.at = at;
    this.show();
  }

  show() {
    const [path, name, words] = STOPS[this.at];
    byId("tour").hidden = false;
    this.text.replaceChildren(h("strong", { text: `${name}. ` }), words);
    setText(this.next, this.at + 1 < STOPS.length ? `Next: ${STOPS[this.at + 1][1]}` : "Done");
    setText(this.place, `${this.at + 1} of ${STOPS.length}, half a minute in all`);
    for (const link of document.querySelectorAll(".tabs a")) link.classList.toggle("toured", link.getAttribute("href").split("?")[0] === path);
  }

  end() {
    remember();
    this.at = 0;
    byId("tour").hidden = true;
    for (const link of document.querySelectorAll(".tabs .toured")) link.classList.remove("toured");
    byId("main").focus({ preventScroll: true });
  }
}
