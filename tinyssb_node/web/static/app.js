// The application: the current view, the login, and the state of the connection.

import { ApiError, get, post, setAway, setGuest, whenTokenNeeded } from "/static/api.js";
import { ChatView } from "/static/chat.js";
import { languageChoice } from "/static/choice.js";
import { byId, h, setText } from "/static/dom.js";
import { forget, rememberLetIn, wasLetIn } from "/static/kept.js";
import { language, t } from "/static/language.js";
import { Live } from "/static/live.js";
import { Notices } from "/static/notices.js";
import { outbox } from "/static/outbox.js";
import { person } from "/static/person.js";
import { timeOf } from "/static/words.js";

const QUOTA_MS = 60_000; // a guest's messages beyond the quota are offered again
const main = byId("main");
let view = null;
let live = null;
const notices = new Notices((path) => go(path));

/** A view whose code is loaded when it is opened: the first load of the page has to be small. */
class LaterView {
  constructor(title, load) {
    this.load = load;
    this.element = h("div", { class: "later" }, h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: title }), h("p", { class: "soft", role: "status", text: t("Loading…") })));
  }

  close() {
    this.closed = true;
    this.view?.close?.();
  }

  async refresh() {
    if (!this.view) {
      try {
        this.view = await this.load();
      } catch {
        setText(this.element.querySelector("[role=status]"), t("This part of the page could not be loaded. Reload the page to try again."));
        return;
      }
      this.view.go = (path, how) => this.go?.(path, how);
      if (this.closed) this.view.close?.();
      const focused = this.element.contains(document.activeElement);
      this.element.replaceChildren(this.view.element);
      if (focused) this.element.querySelector("h1").focus();
    }
    if (!this.closed) await this.view.refresh();
  }
}

const thread = (conversation, id) => new LaterView(t("Thread"), async () => new (await import("/static/thread.js")).ThreadView({ conversation, id }));
const ROUTES = [
  [/^\/$/, () => new ChatView({ conversation: "public" }), "chat"],
  [/^\/c\/(public|[0-9a-f]{16}|[0-9a-f]{40})$/, (name) => new ChatView({ conversation: name }), "chat"],
  [/^\/with\/([0-9a-f]{64}(?:,[0-9a-f]{64}){0,5})$/, (feeds) => new ChatView({ feeds }), "chat"],
  [/^\/g\/([0-9a-f]{40})$/, (group) => new LaterView(t("Group"), async () => new (await import("/static/group.js")).GroupView({ group })), "chat"],
  [/^\/t\/(public|[0-9a-f]{16}|[0-9a-f]{40})\/([0-9a-f]{40})$/, thread, "chat"],
  [/^\/search$/, () => new LaterView(t("Search"), async () => new (await import("/static/search.js")).SearchView()), "chat"],
  [/^\/write$/, () => new LaterView(t("Write privately"), async () => new (await import("/static/circle.js")).CircleView()), "chat"],
  [/^\/boards$/, () => new LaterView(t("Boards"), async () => new (await import("/static/boards.js")).BoardsView()), "chat"],
  [/^\/b\/([0-9a-f]{40})$/, (board) => new LaterView(t("Board"), async () => new (await import("/static/boards.js")).BoardView({ board })), "chat"],
  [/^\/new$/, () => new LaterView(t("New group"), async () => new (await import("/static/group.js")).NewGroupView()), "chat"],
  [/^\/people$/, () => new LaterView(t("People"), async () => new (await import("/static/people.js")).PeopleView()), "people"],
  [/^\/map$/, () => new LaterView(t("Map"), async () => new (await import("/static/map.js")).MapView()), "map"],
  [/^\/node$/, () => new LaterView(t("Node"), async () => new (await import("/static/node.js")).NodeView()), "node"],
];

const letters = () => import("/static/letters.js");

async function guestMap() {
  const [{ MapView }, { guestPosition }] = await Promise.all([import("/static/map.js"), import("/static/telemetry.js")]);
  return new MapView({ position: guestPosition });
}

const GUEST_ROUTES = [ROUTES[0], [/^\/c\/([0-9a-f]{64})$/, (feed) => new LaterView(t("Private"), async () => new (await letters()).LetterView(feed)), "chat"], [/^\/people$/, () => new LaterView(t("People"), async () => new (await letters()).LetterPeopleView()), "people"], [/^\/c\/(public)$/, (name) => new ChatView({ conversation: name }), "chat"], [/^\/t\/(public)\/([0-9a-f]{40})$/, thread, "chat"], [/^\/map$/, () => new LaterView(t("Map"), guestMap), "map"], [/^\/you$/, () => new LaterView(t("You"), async () => new (await import("/static/you.js")).YouView()), "you"]];

function show({ focus = true } = {}) {
  view?.close?.();
  if (view) view.go = null; // an answer that comes after its reader left moves nobody
  for (const [pattern, make, tab] of person.guest ? GUEST_ROUTES : ROUTES) {
    const found = pattern.exec(location.pathname);
    if (!found) continue;
    for (const link of document.querySelectorAll("[data-tab]")) {
      if (link.dataset.tab === tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    view = make(...found.slice(1));
    view.go = go;
    view.notify?.(notices);
    main.replaceChildren(view.element);
    if (focus) view.element.querySelector("h1")?.focus();
    view.refresh();
    return;
  }
  view = null;
  main.replaceChildren(h("div", { class: "sheet" }, h("h1", { text: t("There is no page at this address") }), h("p", {}, h("a", { href: "/", "data-page": true, text: t("Go to the chat") }))));
}

function go(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  show();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const within = link?.getAttribute("href")?.startsWith("#") ? byId(link.hash.slice(1)) : null;
  if (within) {
    event.preventDefault();
    within.focus();
    return;
  }
  if (!link?.hasAttribute("data-page") || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.pathname);
});
window.addEventListener("popstate", () => { if (live) show(); });
window.addEventListener("hashchange", () => {
  const token = tokenInAddress(); // a link to an open tab changes the part behind `#` alone
  if (token !== null) begin(token);
});

function connection(state, since) {
  const pill = byId("connection");
  const before = pill.dataset.state;
  pill.dataset.state = state;
  setText(byId("connection-text"), state === "live" ? t("Live") : t("Offline since {time}", { time: timeOf(since.getTime() * 1_000) }));
  setAway(state === "lost");
  if (state === "lost") checkSession();
  if (state !== "live" || before === "live") return;
  if (person.guest) person.sync();
  else outbox.flush();
  if (before === "lost") view?.refresh();
}

/** Asks for the token again if the node is there, and does not know this browser any more: a stream cannot tell. */
async function checkSession() {
  try {
    const session = await get("/api/session");
    if (!session.known && !session.guest) login();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

function problem(text) {
  const notice = byId("problem");
  notice.hidden = !text;
  setText(notice, text ? `${text} ${t("You can still read; what you write stays in the box.")}` : "");
  if (!text && !person.guest) outbox.flush();
}

async function startAsGuest() {
  setGuest();
  await person.open();
  for (const link of document.querySelectorAll("[data-tab]")) link.hidden = !["chat", "people", "map", "you"].includes(link.dataset.tab);
  start();
  person.sync();
  setInterval(() => { if (person.me?.waiting.length) person.sync(); }, QUOTA_MS);
}

function start() {
  rememberLetIn(person.guest ? "guest" : "node");
  show({ focus: false });
  live ??= new Live(
    (change) => {
      problem(change.problem);
      view?.refresh();
      if (!view?.notify) notices.refresh();
    },
    connection,
  );
}

/** Returns the login behind `#`, and removes it from the address at once: it must not stay in the history. */
function tokenInAddress() {
  const hash = new URLSearchParams(location.hash.slice(1));
  for (const [name, path] of [["token", "/api/login"], ["guest", "/api/guest/enter"]]) {
    const token = hash.get(name);
    if (token === null) continue;
    history.replaceState(null, "", location.pathname);
    return { path, token };
  }
  return null;
}

async function begin(token) {
  const role = token === null ? wasLetIn() : null;
  if (role !== null) {
    // A node that does not know this browser any more says so at the first request.
    await (role === "guest" ? startAsGuest() : start());
    return;
  }
  try {
    if (token !== null) await post(token.path, { token: token.token });
    const session = await get("/api/session");
    if (session.known) start();
    else if (session.guest) await startAsGuest();
    else login();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.kind !== "lost") login(`${error.message} ${error.hint}`);
    else {
      connection("lost", new Date());
      setTimeout(() => begin(token), 2_000);
    }
  }
}

function login(reason = "") {
  forget();
  view?.close?.();
  view = null;
  const input = h("input", { id: "token", name: "token", type: "password", autocomplete: "current-password", required: true, autocapitalize: "none", spellcheck: "false", "aria-describedby": "token-error" });
  const failed = h("p", { class: "failed", id: "token-error", role: "alert", text: reason });
  const form = h(
    "form",
    { class: "card" },
    h("label", { for: "token", text: t("Token") }),
    input,
    failed,
    h("button", { class: "button", text: t("Open") }),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await post("/api/login", { token: input.value });
      start();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(failed, `${error.message} ${error.hint}`);
      input.focus();
    }
  });
  const sheet = h(
    "div",
    { class: "sheet" },
    h("h1", { text: t("This node’s page"), tabindex: "-1" }),
    h("p", { text: t("Enter the token to read and write here. On the node, tinyssb web --link shows it as a link and as a QR code. Guests scan the code at the door.") }),
    form,
    languageChoice(),
  );
  main.replaceChildren(sheet);
  setText(byId("connection-text"), t("Locked"));
  input.focus();
}

whenTokenNeeded(() => {
  if (!main.querySelector("#token")) login();
});

/** Installs the worker that opens the page without the node, where browsers allow it: over HTTPS, and on this machine. */
async function installWorker() {
  if (!("serviceWorker" in navigator)) return;
  const address = `/static/worker.js?language=${language}`; // it keeps the messages, too
  const policy = window.trustedTypes?.createPolicy("worker", { createScriptURL: () => address });
  navigator.serviceWorker.addEventListener("message", ({ data }) => go(data.open));
  try {
    await navigator.serviceWorker.register(policy?.createScriptURL(address) ?? address, { scope: "/" });
  } catch (error) {
    if (!(error instanceof DOMException || error instanceof TypeError)) throw error;
    // The phone does not trust the certificate, or is private: the page works as long as the node is near.
  }
}

installWorker();
begin(tokenInAddress());
