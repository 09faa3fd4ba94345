// The page without the node: its own files, and files of messages that were opened before. The server puts VERSION in
// front, which changes with any file, so that a browser fetches all of them anew, together. Its address names the language.

const SHELL = `shell ${VERSION}`;
const LATER = ["/static/boards.js", "/static/circle.js", "/static/drawing.js", "/static/ground.js", "/static/group.js", "/static/guestfile.js", "/static/history.js", "/static/letters.js", "/static/map.js", "/static/mercator.js", "/static/node.js", "/static/people.js", "/static/picture.js", "/static/plot.js", "/static/position.js", "/static/readings.js", "/static/sealed.js", "/static/search.js", "/static/telemetry.js", "/static/thread.js", "/static/voice.js", "/static/you.js"]; // which views load when they are opened
const FILES = "files"; // of messages; they never change
const FILES_MAX = 60; // of at most 32 kB
const FILE_PATHS = new Set(["/api/file", "/api/group/file", "/api/guest/file"]);

self.addEventListener("install", (event) => event.waitUntil(fill()));
self.addEventListener("activate", (event) => event.waitUntil(leaveOld()));

/** Keeps all files of the page, one after the other: on a poor link the page itself needs the other connections. */
async function fill() {
  const cache = await caches.open(SHELL);
  const page = await fetch("/", { cache: "no-cache" });
  const names = [...(await page.clone().text()).matchAll(/(?:src|href)="(\/static\/[^"]+)"/g)].map(([, name]) => name);
  const language = new URL(self.location).searchParams.get("language");
  if (language !== "en") names.push(`/static/${language}.json`);
  for (const name of new Set([...names, ...LATER])) {
    if (await cache.match(name)) continue; // from an attempt that was cut off
    const file = await fetch(name, { cache: "no-cache" });
    if (!file.ok) throw new Error(`${name} was not found`);
    await cache.put(name, file);
  }
  await cache.put("/", page);
  await self.skipWaiting();
}

async function leaveOld() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("shell ") && name !== SHELL).map((name) => caches.delete(name)));
  await self.clients.claim();
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (FILE_PATHS.has(pathname)) event.respondWith(fileOf(request));
  else if (request.mode === "navigate" ? pathname !== "/ca.crt" && pathname !== "/words.txt" : pathname.startsWith("/static/")) event.respondWith(own(request, request.mode === "navigate" ? "/" : pathname));
});

/** Returns a file of the page. All addresses of views are the same document. */
async function own(request, name) {
  const cache = await caches.open(SHELL);
  return (await cache.match(name)) ?? fetch(request);
}

async function fileOf(request) {
  const cache = await caches.open(FILES);
  const known = await cache.match(request.url);
  if (known) return known;
  const found = await fetch(request);
  if (found.ok) {
    await cache.put(request.url, found.clone());
    for (const oldest of (await cache.keys()).slice(0, -FILES_MAX)) await cache.delete(oldest);
  }
  return found;
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open_(event.notification.data));
});

async function open_(path) {
  const [window] = await self.clients.matchAll({ type: "window" });
  if (!window) return self.clients.openWindow(path);
  window.postMessage({ open: path });
  return window.focus();
}
