// The shell: address → view, live changes, time range, theme, connection. Views are in views/<name>.js, each exporting
//   title(params)                  words for the heading and the window, before anything is known
//   ranged                         false: the time range means nothing to it, and is not offered
//   async show(root, context)      draws into `root`; resolves to {update(change), close()}
// `update({kind, change})` is called with kind `live` (something new was read), `query` (range or cursor changed) or
// `theme`; calls never overlap, and changes in between are combined. See `contextOf` for the context of a view.

import { address, ApiError, askAhead, csvAddress, get } from "./api.js";
import { byId, setText } from "./dom.js";
import { age, moment, wholeSpan } from "./format.js";
import { Live } from "./live.js";
import { apiRange, needsAsOf, RangePicker, readRange } from "./range.js";
import { errorView, stateView } from "./states.js";
import { hideTip } from "./tip.js";
import { Tour } from "./tour.js";

const OLD_NEWS_US = 60e6;
const REST_MS = 100; // between two updates at least
const REST_SHARE = 4; // and so many times the duration of the last one, so that slow devices stay responsive
const REST_MAX_MS = 2_000;
const RETRY_MS = 3_000;
const AS_OF_WAIT_MS = 2_000;
const SPOKEN = { connecting: "", live: "Connected, figures are live", lost: "Connection lost, trying again" };
const RANGE_KEYS = ["last", "from", "to"];
/** What else of the address means the same in another view, and goes along to it. */
const SHARED = { "": ["find", "at", "node"], messages: ["find", "at"], airtime: ["find", "node"], nodes: ["find", "node"] };
const UNSEARCHED = ["message", "job"];
const FIND_MS = 250; // after the last key
const FIND_MAX = 256;
const HEX = "[0-9a-f]+";
const ROUTES = [
  ...["messages", "airtime", "nodes", "job"].map((name) => [new RegExp(`^/${name}/?$`), name]),
  [/^\/$/, "mesh"],
  [new RegExp(`^/node/(?<node>${HEX})$`), "node"],
  [new RegExp(`^/feed/(?<feed>${HEX})$`), "feed"],
  [new RegExp(`^/message/(?<feed>${HEX})/(?<seq>\\d+)$`), "message"],
];
/** Views that were pages of their own: the tab that has them now, their part of it, and what to open there. */
const MOVED = {
  feeds: ["/messages", "heat", null], delays: ["/messages", "delays", "delays"], topology: ["/", "graph", "links"], map: ["/", "map", null],
  gossip: ["/airtime", "gossip", "gossip"], packets: ["/airtime", "packets", "packets"], faults: ["/nodes", "faults", "faults"],
};
/** The tab that a page belongs to. */
const TABS = { node: "nodes", feed: "messages", message: "messages" };

const state = { asOfUs: null, committedUs: null, link: "connecting", view: null, visit: 0, path: null };
const asOfKnown = [];

function route() {
  for (const [pattern, name] of ROUTES) {
    const match = pattern.exec(location.pathname);
    if (match) return { name, params: { ...match.groups } };
  }
  return { name: null, params: {} };
}

/** Puts the present address of a view in the place of an old one; gives the part of the tab that it is now, or null. */
function renew() {
  const [path, part, opened] = MOVED[location.pathname.split("/")[1]] ?? [null, null, null];
  if (path === null) return null;
  const url = new URL(path, location.origin);
  url.search = location.search;
  if (opened && !url.searchParams.has("open")) url.searchParams.set("open", opened);
  history.replaceState(history.state, "", url.pathname + url.search);
  return part;
}

const query = () => new URLSearchParams(location.search);
const findOf = () => ({ find: query().get("find")?.slice(0, FIND_MAX) });

/** Puts `changes` (null: take away) into the query of the address; `replace`: no new step for the back button. */
function setQuery(changes, { replace = false } = {}) {
  const next = query();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  const url = location.pathname + (text ? `?${text}` : "");
  if (url === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"]({ scroll: window.scrollY }, "", url);
  changed({ kind: "query" });
}

/**
 * `path` with the time range that is being looked at, and with what else the view it leads to shares with this one; to
 * the same view, with the range alone. What the path says itself stays.
 */
function withRange(path) {
  const url = new URL(path, location.origin);
  const now = query();
  const [here, there] = [location.pathname, url.pathname].map((one) => one.split("/")[1]);
  const shared = here === there ? [] : (SHARED[there] ?? []).filter((key) => SHARED[here]?.includes(key));
  const ranged = RANGE_KEYS.some((key) => url.searchParams.has(key));
  for (const key of [...(ranged ? [] : RANGE_KEYS), ...shared]) {
    if (now.has(key) && !url.searchParams.has(key)) url.searchParams.set(key, now.get(key));
  }
  return url.pathname + url.search;
}

function go(path) {
  history.replaceState({ scroll: window.scrollY }, "");
  history.pushState({ scroll: 0 }, "", withRange(path));
  open();
}

async function asOf() {
  if (state.asOfUs === null) {
    await Promise.race([new Promise((resolve) => asOfKnown.push(resolve)), new Promise((resolve) => setTimeout(resolve, AS_OF_WAIT_MS))]);
  }
  return state.asOfUs;
}

function noteTimes(body) {
  if (body.committed_us) state.committedUs = body.committed_us;
  if (!body.as_of_us) return;
  state.asOfUs = body.as_of_us;
  asOfKnown.splice(0).forEach((resolve) => resolve());
}

/** What a view is given. */
function contextOf(params, signal) {
  return {
    params,
    signal,
    /** {last, from, to, at} of the address, now. */
    get range() { return readRange(query()); },
    /** The query's value of `name`, or `otherwise`. */
    get: (name, otherwise = null) => query().get(name) ?? otherwise,
    set: setQuery,
    go,
    withRange,
    /** The newest record's time as far as it is known. */
    get asOfUs() { return state.asOfUs; },
    /** How long ago `us` is by the server's clock. */
    ageOf: (us) => live.ageOf(us),
    /** Asks `path` with the time range and `extra`; the same object again if nothing changed. Throws unless `ready`. */
    async load(path, extra = {}) {
      const range = readRange(query());
      const span = apiRange(range, needsAsOf(range) ? await asOf() : null);
      const params_ = { ...span, ...extra, ...findOf() };
      byId("as-json").href = address(path, params_);
      const body = await get(path, params_, { signal });
      noteTimes(body);
      if (body.state !== "ready") throw Object.assign(new Error(body.state), { answer: body });
      return body;
    },
    /** Address of the same as CSV; right for the moment it is built. */
    csv: (path, extra = {}) => csvAddress(path, { ...apiRange(readRange(query()), state.asOfUs), ...extra, ...findOf() }),
    /** Changes heading and window title once more is known; `level` good, warning, alarm colours the heading. */
    heading(text, { level = null, windowTitle = text } = {}) {
      setText(byId("title"), text);
      if (level) byId("title").dataset.level = level;
      else delete byId("title").dataset.level;
      const whole = `${windowTitle} · tinySSB mesh`;
      if (document.title !== whole) document.title = whole;
    },
  };
}

function mark(name) {
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.dataset.view === (TABS[name] ?? name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const current = document.querySelector(".tabs [aria-current]");
  const strip = current?.parentElement;
  if (strip && strip.scrollWidth > strip.clientWidth) strip.scrollLeft = current.offsetLeft - strip.clientWidth / 2 + current.offsetWidth / 2;
}

/** Opens the view of the address in place of the one that is shown. */
async function open({ focus = true, scroll = 0 } = {}) {
  const visit = ++state.visit;
  const part = renew();
  state.path = location.pathname;
  tour.follow(state.path);
  state.view?.close();
  hideTip();
  const { name, params } = route();
  const root = document.createElement("div");
  root.className = `view view-${name ?? "none"}`;
  root.ariaBusy = "true";
  const stop = new AbortController();
  const context = contextOf(params, stop.signal);
  const view = new Shown(name, root, context, stop);
  state.view = view;
  mark(name);
  showQuery();
  notice("");
  const old = byId("view").firstElementChild;
  if (!old) byId("view").replaceChildren(root);
  await view.start(() => {
    if (visit !== state.visit) return;
    byId("view").replaceChildren(root);
    if (focus) {
      byId("main").focus({ preventScroll: true });
      window.scrollTo(0, scroll);
    }
    if (part) byId(`part-${part}`)?.scrollIntoView();
  });
}

/** One view on the page, from its address to its end. */
class Shown {
  constructor(name, root, context, stop) {
    Object.assign(this, { name, root, context, stop, handle: null, due: null, running: false, timer: null, lastMs: 0, restMs: REST_MS });
  }

  /** `onready()` puts the root on the page: when the view has drawn itself, or what stands in its place. */
  async start(onready) {
    this.running = true;
    try {
      if (this.name === null) throw new ApiError("unknown", `There is no page ${location.pathname}.`);
      const module = await import(`./views/${this.name}.js`);
      if (this.stop.signal.aborted) return;
      this.context.heading(module.title(this.context.params));
      byId("range").hidden = module.ranged === false;
      byId("find").hidden = UNSEARCHED.includes(this.name);
      this.handle = await module.show(this.root, this.context);
      if (this.stop.signal.aborted) this.handle.close();
    } catch (error) {
      this.failed(error);
    }
    this.running = false;
    this.lastMs = performance.now();
    this.root.ariaBusy = null;
    onready();
    if (this.due) this.soon();
  }

  /** Notifies the view of a change when it has time. */
  want(change) {
    const query_ = this.due?.kind === "query" || change.kind === "query";
    this.due = { ...this.due, ...change, kind: query_ ? "query" : change.kind };
    if (!this.running) this.soon();
  }

  soon() {
    if (this.timer !== null) return;
    const wait = this.due.kind === "live" ? Math.max(0, this.restMs - (performance.now() - this.lastMs)) : 0;
    this.timer = setTimeout(() => this.run(), wait);
  }

  async run() {
    this.timer = null;
    const change = this.due;
    this.due = null;
    if (this.stop.signal.aborted || !change) return;
    if (!this.handle) {
      if (change.kind !== "theme") this.again();
      return;
    }
    this.running = true;
    const beginMs = performance.now();
    try {
      await this.handle.update(change);
      notice("");
    } catch (error) {
      this.troubled(error, change);
    }
    this.running = false;
    this.lastMs = performance.now();
    this.restMs = Math.min(REST_MAX_MS, Math.max(REST_MS, REST_SHARE * (this.lastMs - beginMs)));
    if (this.due && !this.stop.signal.aborted) this.soon();
  }

  again() {
    if (this.stop.signal.aborted || this.running || this.handle) return;
    this.root.replaceChildren();
    this.start(() => {});
  }

  /** No figures yet: what to do stands in their place. */
  failed(error) {
    if (error.name === "AbortError" || this.stop.signal.aborted) return;
    if (this.handle) this.handle.close();
    this.handle = null;
    if (error.answer) this.root.replaceChildren(stateView(error.answer));
    else this.root.replaceChildren(errorView(error, { retry: () => this.again(), ontoken: takeToken }));
    if (error.kind === "unknown" && this.name === null) this.context.heading("No such page");
    if (!error.kind && !error.answer) console.error(error);
    if (error.kind === "lost" || error.kind === "busy") setTimeout(() => this.again(), RETRY_MS);
  }

  /** Figures stand already: they stay if the server is only away, else they give way to what is to be said. */
  troubled(error, change) {
    if (error.name === "AbortError") return;
    if (error.kind === "lost" || error.kind === "busy") {
      notice(`${error.message} The figures below are the last ones it sent.`);
      setTimeout(() => this.want(change), RETRY_MS);
    } else this.failed(error);
  }

  close() {
    this.stop.abort();
    clearTimeout(this.timer);
    this.handle?.close();
    this.handle = null;
  }
}

function notice(text) {
  byId("notice").hidden = text === "";
  setText(byId("notice"), text);
}

/** The server trades a right token for a cookie. */
function takeToken(token) {
  location.assign(address(location.pathname, { ...Object.fromEntries(query()), token }));
}

/** Shows what the address says of the range and the search. */
function showQuery() {
  picker.set(readRange(query()), state.asOfUs);
  const finder = byId("find");
  if (document.activeElement !== finder) finder.value = findOf().find ?? "";
}

function changed(change) {
  showQuery();
  state.view?.want(change);
}

function tick() {
  const pill = byId("connection");
  const words = { connecting: "Connecting…", lost: "Connection lost, trying again…" };
  let shown = state.link;
  let text = words[state.link];
  if (state.link === "live") {
    const newsUs = state.committedUs ?? state.asOfUs;
    const old = newsUs !== null && live.ageOf(newsUs) > OLD_NEWS_US;
    shown = old ? "quiet" : "live";
    text = newsUs === null ? "Live, no data yet" : old ? `No news for ${wholeSpan(live.ageOf(newsUs))}` : `Live, updated ${age(live.ageOf(newsUs))}`;
  }
  if (pill.dataset.state !== shown) pill.dataset.state = shown;
  setText(byId("connection-text"), text);
  setText(byId("connection-state"), SPOKEN[state.link]);
  setText(byId("as-of"), state.asOfUs ? `Figures as of ${moment(state.asOfUs)}, the newest record of any node; times are mesh time, shown in this computer’s zone.` : "");
}

/** The link that an event is about, if it leads to a page of ours. */
function inside(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return null;
  return /^\/(api|static|metrics|healthz)/.test(link.pathname) || link.getAttribute("href").startsWith("#") ? null : link;
}

// A link is given the time range when it is about to be used: also for a new tab, and for copying its address. Where it
// led before is kept, for the range may be another one the next time.
const plain = new WeakMap();
for (const kind of ["pointerdown", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const link = inside(event);
    if (!link) return;
    const href = link.getAttribute("href");
    const before = plain.get(link);
    const own = before?.given === href ? before.own : href;
    link.href = withRange(own);
    plain.set(link, { own, given: link.getAttribute("href") });
  });
}
document.addEventListener("click", (event) => {
  const link = inside(event);
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
window.addEventListener("popstate", (event) => {
  if (location.pathname === state.path && state.view?.handle) changed({ kind: "query" });
  else open({ scroll: event.state?.scroll ?? 0 });
});
new MutationObserver(() => changed({ kind: "theme" })).observe(document.documentElement, { attributeFilter: ["data-theme"] });

const picker = new RangePicker(byId("range"), (chosen) => setQuery({ ...chosen, at: null }));
let findTimer = null;
byId("find").addEventListener("input", () => {
  clearTimeout(findTimer);
  findTimer = setTimeout(() => setQuery({ find: byId("find").value.trim() }, { replace: true }), FIND_MS);
});
const live = new Live(
  (change) => {
    noteTimes(change);
    tick();
    changed({ kind: "live", change });
  },
  (link) => {
    state.link = link;
    document.body.classList.toggle("lost", link === "lost");
    tick();
  },
  (text) => {
    byId("caption").hidden = text === "";
    setText(byId("caption"), text);
  },
);
const tour = new Tour(go);
history.scrollRestoration = "manual";
// The first figures are asked for while the view that draws them is still being loaded.
if (route().name === "mesh" && !findOf().find && !needsAsOf(readRange(query()))) askAhead("/api/overview", apiRange(readRange(query()), null));
setInterval(tick, 1_000);
open({ focus: false });
