// Asking the page's server. Answers are kept by address with their ETag: an unchanged answer costs one short exchange,
// and is the very same object again, so that a view can see at once that there is nothing to draw.

const KEPT = 24;
const kept = new Map();
let ahead = null;

/** The server did not give an answer that can be drawn. `kind`: lost, token, unknown, bad, busy. */
export class ApiError extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

const KINDS = { 400: "bad", 401: "token", 403: "token", 404: "unknown", 422: "bad", 503: "busy" };

/** Address of `path` with `params`; null and undefined ones are left out. */
export function address(path, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** The same figures as a CSV file. */
export const csvAddress = (path, params = {}) => address(path, { ...params, format: "csv" });

/** Asks before a view that will want the answer has been loaded; what goes wrong is said when it asks itself. */
export function askAhead(path, params = {}) {
  const url = address(path, params);
  ahead = { url, answer: get(path, params).catch(() => null) };
}

/** The answer as an object. The same object as before if nothing changed. Throws ApiError, or AbortError. */
export async function get(path, params = {}, { signal } = {}) {
  const url = address(path, params);
  if (ahead?.url === url) {
    const { answer } = ahead;
    ahead = null;
    const body = await answer;
    if (body) return body;
  }
  const before = kept.get(url);
  const headers = before?.tag ? { "If-None-Match": before.tag } : {};
  let response;
  try {
    response = await fetch(url, { headers, signal, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("lost", "The page’s server does not answer.");
  }
  if (response.status === 304 && before) return before.body;
  const body = await read(response);
  keep(url, response.headers.get("etag"), body);
  return body;
}

async function read(response) {
  let body = null;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (body?.state) return body; // also with 503: a database that is missing is an answer
  if (response.ok && body) return body;
  throw new ApiError(KINDS[response.status] ?? "busy", body?.message ?? `The page’s server answered ${response.status}.`, response.status);
}

function keep(url, tag, body) {
  kept.delete(url);
  kept.set(url, { tag, body });
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}
