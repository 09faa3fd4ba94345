// Answers of the node that this browser keeps, so that messages can be read while the node is away. Only where pages are
// secure (HTTPS, or this machine): elsewhere the page itself cannot be opened without the node.

const NAME = "answers";
const KEPT_MAX = 48; // conversations and lists; a conversation has some 30 kB
const PATHS = new Set(["/api/conversations", "/api/messages", "/api/people", "/api/group", "/api/thread", "/api/boards", "/api/board", "/api/guest/conversations", "/api/guest/messages", "/api/guest/thread", "/api/guest/people"]);
const KEY = "let in";

/** Returns whether answers to this request are kept: the latest ones of each list. */
const isKept = (url) => PATHS.has(url.split("?")[0]) && !url.includes("before=");

/** Does `work` with the cache; null where there is none: it is not secure here, or storage is switched off. */
async function withCache(work) {
  if (!("caches" in window)) return null;
  try {
    return await work(await caches.open(NAME));
  } catch (error) {
    if (error instanceof DOMException || error instanceof TypeError) return null;
    throw error;
  }
}

export function keep(url, body) {
  if (!isKept(url)) return null;
  return withCache(async (cache) => {
    // Replaced in one step: a page that is left in the middle keeps the answer before.
    await cache.put(url, new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } }));
    for (const oldest of (await cache.keys()).slice(0, -KEPT_MAX)) await cache.delete(oldest);
  });
}

/** Returns the answer that is kept; null if there is none. */
export function kept(url) {
  if (!isKept(url)) return null;
  return withCache(async (cache) => {
    const found = await cache.match(url);
    return found ? found.json() : null;
  });
}

/** Returns as what this browser was let in before, "node" or "guest": then the page opens without asking the node. */
export function wasLetIn() {
  try {
    return "caches" in window ? localStorage.getItem(KEY) : null;
  } catch {
    return null; // storage is switched off
  }
}

export function rememberLetIn(role) {
  try {
    localStorage.setItem(KEY, role);
  } catch {
    // as above: the node is asked each time
  }
}

/** Deletes everything that was read. What waits to be sent stays: it is its writer's. */
export async function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // as above
  }
  await withCache(() => Promise.all([caches.delete(NAME), caches.delete("files")]));
}
