// Requests to the page's server.

import { keep, kept } from "/static/kept.js";
import { language, t } from "/static/language.js";

const PATIENCE_MS = 40_000; // the server itself waits 10 s for the node; on a link that loses 30 % a request may need 20 s more
const AGAIN_MS = [500, 2_000, 5_000]; // before each further attempt
const AWAY_MS = 8_000; // for the only attempt, while the stream of changes is broken

/** A request that failed. `kind`: lost, token, or the server's error code. */
export class ApiError extends Error {
  constructor(kind, message, hint = "") {
    super(plain(message));
    this.kind = kind;
    this.hint = plain(hint);
  }
}

/** Removes the backquotes that mark commands in messages for terminals. */
const plain = (text) => text.replaceAll("`", "");

let onTokenNeeded = () => {};

/** Sets the action for when the server requires its token. */
export function whenTokenNeeded(act) {
  onTokenNeeded = act;
}

let away = false;

/** Sets whether the node is away: then one short attempt has to do. */
export function setAway(isAway) {
  away = isAway;
}

const GUEST_PATHS = { "/api/conversations": "/api/guest/conversations", "/api/messages": "/api/guest/messages", "/api/places": "/api/guest/places", "/api/thread": "/api/guest/thread" };
let guest = false;

/** Sets that this browser is a guest's: it reads what is public. */
export function setGuest() {
  guest = true;
}

function addressOf(name, params) {
  const path = (guest && GUEST_PATHS[name]) || name;
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== null && value !== undefined));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** Returns the reply to a GET request; if the node is away, the last one that this browser kept. Throws ApiError. */
export async function get(path, params = {}) {
  const url = addressOf(path, params);
  try {
    const body = await request(url, {});
    await keep(url, body); // before it is shown: what was seen can be read without the node
    return body;
  } catch (error) {
    const last = error instanceof ApiError && error.kind === "lost" ? await kept(url) : null;
    if (!last) throw error;
    return last;
  }
}

/** Returns the last reply that this browser kept; null if there is none. */
export const getKept = (path, params = {}) => kept(addressOf(path, params));

/** Returns the reply to a POST request. Throws ApiError. */
export function post(path, body) {
  return request(path, posting(body));
}

const posting = (body) => ({ method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });

/** Returns the bytes (Blob) that an address gives; with a body, in reply to it. Throws ApiError. */
export function getBytes(path, body = null) {
  return request(path, body ? posting(body) : {}, "blob");
}

/** Returns an id for a request that publishes something: with it the request can be repeated, and publishes once. */
export const newId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Requests until there is a response, a few times: what publishes carries an id, `once`, so that it publishes once. */
async function request(url, options, kind = "json") {
  for (const wait of [...AGAIN_MS, null]) {
    const answer = await attempt(url, options, kind);
    if (answer) return read(answer);
    if (wait === null || away || !navigator.onLine) break;
    await pause(wait);
  }
  throw new ApiError("lost", t("The page’s server does not answer."), t("Check that you are on its Wi-Fi."));
}

/** Returns the response with its body; null if there is none, or it broke off. */
async function attempt(url, options, kind) {
  let response;
  let body = null;
  try {
    response = await fetch(url, { ...options, headers: { ...options.headers, "Accept-Language": language }, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(away ? AWAY_MS : PATIENCE_MS) });
    body = await response[response.ok ? kind : "json"]();
  } catch {
    if (!response || response.ok) return null;
  }
  return { response, body };
}

function read({ response, body }) {
  if (response.ok) return body;
  if (response.status === 401) onTokenNeeded();
  throw new ApiError(response.status === 401 ? "token" : body?.code ?? "failed", body?.message ?? t("The page’s server answered {status}.", { status: response.status }), body?.hint ?? "");
}
