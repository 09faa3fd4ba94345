// Asking the page's server.

const PATIENCE_MS = 15_000; // the server itself waits 10 s for the node

/** The server did not do what was asked. `kind`: lost, token, or the server's own word. */
export class ApiError extends Error {
  constructor(kind, message, hint = "") {
    super(plain(message));
    this.kind = kind;
    this.hint = plain(hint);
  }
}

/** Sentences are written for terminals, where commands stand between backquotes. */
const plain = (text) => text.replaceAll("`", "");

let onTokenNeeded = () => {};

/** What to do when the server asks for its token. */
export function whenTokenNeeded(act) {
  onTokenNeeded = act;
}

/** The answer to a question. Throws ApiError. */
export function get(path, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== null && value !== undefined));
  const text = query.toString();
  return ask(text ? `${path}?${text}` : path, {});
}

/** What came of it. Throws ApiError. */
export function post(path, body) {
  return ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
}

async function ask(url, options) {
  let response;
  let body = null;
  try {
    response = await fetch(url, { ...options, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE_MS) });
    body = await response.json();
  } catch {
    if (!response || response.ok) throw new ApiError("lost", "The page’s server does not answer.", "Are you still in its Wi-Fi?");
  }
  if (response.ok) return body;
  if (response.status === 401) onTokenNeeded();
  throw new ApiError(response.status === 401 ? "token" : body?.code ?? "failed", body?.message ?? `The page’s server answered ${response.status}.`, body?.hint ?? "");
}
