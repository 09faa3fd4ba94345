// The person of this phone: their key, and the entries that they signed and the node does not have yet.

import { ApiError, get, post } from "/static/api.js";
import { alias, canSign, firstPrevious, fromHex, keyOf, prove, publicText, signEntry, toBase64, toHex } from "/static/entries.js";
import { t, tn } from "/static/language.js";

const WAITING_MAX = 50; // signed entries that wait; each has up to 120 packets, 19 kB
const ME = "me";

/** Returns the table of this browser's database. */
function table(mode) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open("person", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("person");
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => done(opening.result.transaction("person", mode).objectStore("person"));
  });
}

function settled(request) {
  return new Promise((done, fail) => {
    request.onerror = () => fail(request.error);
    request.onsuccess = () => done(request.result);
  });
}

/** Waits until a change is on the disk: an entry is sent after that, and never another one with its number. */
function written(store) {
  return new Promise((done, fail) => {
    store.transaction.oncomplete = done;
    store.transaction.onerror = store.transaction.onabort = () => fail(store.transaction.error);
  });
}

/** Returns what this browser keeps under a name; null if there is nothing. */
export const stored = async (name) => (await settled((await table("readonly")).get(name))) ?? null;

/** Keeps a value under a name, on the disk when it returns. */
export async function store(name, value) {
  const opened = await table("readwrite");
  opened.put(value, name);
  await written(opened);
}

class Person extends EventTarget {
  constructor() {
    super();
    this.guest = false; // this browser came in by the guests' link
    this.me = null; // {feed, key, secret, name, prefix, dialect, seq, id, waiting}; seq null: it is not known how far the feed was written
    this.node = null; // the node's last answer
    this.trouble = null; // why nothing can be signed now: "restored" or "elsewhere"
    this.problem = null; // why the node did not take what waits, in words
  }

  /** Reads what this browser has. */
  async open() {
    this.guest = true;
    this.possible = "locks" in navigator && "indexedDB" in window && (await canSign());
    if (this.possible) await this.load();
    this.changed();
  }

  async load() {
    this.me = await stored(ME);
  }

  save() {
    return store(ME, this.me);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** Does `work` while no other tab signs: two entries with one number would end the feed for ever. */
  alone(work) {
    return navigator.locks.request("person", async () => {
      await this.load();
      try {
        return await work();
      } finally {
        this.changed();
      }
    });
  }

  get canWrite() {
    return this.me !== null && this.me.seq !== null && this.trouble === null;
  }

  /** Rows of the messages that wait, as the outbox has them. */
  get rows() {
    const waiting = this.me?.waiting ?? [];
    return waiting.filter((entry) => entry.text !== null).map(({ id, text, reader, written_ms }) => ({ key: reader ?? "public", request: { once: id, text }, written_ms, problem: this.problem, fixed: true }));
  }

  /** Makes a person of a new seed, with a name. */
  async create(seed, name) {
    const { key, secret, feed } = await keyOf(seed);
    const { prefix, dialect } = await get("/api/guest");
    await this.alone(async () => {
      this.me = { feed, key, secret, name, prefix, dialect, seq: 0, id: null, waiting: [] };
      await this.save();
      if (name) await this.sign(alias(name), null);
    });
    return this.sync();
  }

  /** Makes a person of a seed that was used before. The node says how much of the feed it has. */
  async restore(seed) {
    const { key, secret, feed } = await keyOf(seed);
    const { prefix, dialect } = await get("/api/guest");
    await this.alone(async () => {
      this.me = { feed, key, secret, name: "", prefix, dialect, seq: null, id: null, waiting: [] };
      await this.save();
    });
    return this.sync();
  }

  /** Goes on writing behind the node's last entry: the person knows of no later one. What waited is not sent. */
  async goOn() {
    const node = await this.bound();
    await this.alone(async () => {
      Object.assign(this.me, { seq: node.seq, id: node.entry, dialect: node.dialect, waiting: [] });
      this.trouble = null;
      await this.save();
    });
  }

  /** Deletes the key, and the private messages. */
  async forget() {
    await this.alone(async () => {
      const everything = await table("readwrite");
      everything.clear();
      await written(everything);
      this.me = this.trouble = this.problem = null;
    });
  }

  /** Signs a text, and sends it: a public one, or one that only `reader` can read. Returns the number of packets, and whether the node has it. Throws ApiError. */
  publish(text, replyTo, reader = null) {
    return this.hand((nowS) => (reader ? this.sealed(text, replyTo, reader, nowS) : publicText(text, replyTo, this.me.dialect, nowS)), text, reader);
  }

  /** Signs the content that `make(nowS)` returns, and sends it, or keeps it until the node is near: then `text` stands for it; null: nothing does. Returns as above. Throws ApiError. */
  async hand(make, text, reader = null) {
    const packets = await this.alone(async () => {
      this.check();
      return this.sign(await make(Math.floor(Date.now() / 1_000)), text, reader);
    });
    await this.sync();
    return { packets, waits: this.me.waiting.length > 0 };
  }

  /** Returns a text that only `reader` can read, as the next one of their conversation. Throws ApiError. */
  async sealed(text, replyTo, reader, nowS) {
    const { SealKey } = await import("/static/sealed.js");
    const { letters } = await import("/static/letters.js");
    const tie = replyTo ?? letters.last(reader);
    const content = await new SealKey(this.me).seal(text, tie ? [tie] : [], reader, nowS);
    if (!content) throw new ApiError("reader", t("Nobody can have this feed id, so nobody could read the message."), t("Choose another person."));
    return content;
  }

  /** Throws ApiError if nothing can be signed now. */
  check() {
    if (!this.canWrite) throw new ApiError("person", t("This phone cannot sign now."), t("See the page “You”."));
    if (this.me.waiting.length >= WAITING_MAX) throw new ApiError("full", tn(WAITING_MAX, "{n} message waits already.", "{n} messages wait already."), t("Find the node first."));
  }

  /** Signs and sends a record of the position; `position`: until when it is shown, null if it withdraws one. Returns as above. Throws ApiError. */
  locate(record, position) {
    return this.hand(() => {
      this.me.position = position;
      return record;
    }, null);
  }

  /** Publishes a name. */
  async rename(name) {
    await this.alone(async () => {
      this.me.name = name;
      await this.sign(alias(name), null);
    });
    await this.sync();
  }

  /** Signs content as the next entry, and keeps it until the node has it. Returns its number of packets. */
  async sign(content, text, reader = null) {
    const { me } = this;
    const previous = me.seq ? fromHex(me.id) : firstPrevious(me.feed, me.dialect);
    const { id, packets } = await signEntry(me.key, { ...me, seq: me.seq + 1, previous }, content);
    me.seq += 1;
    me.id = toHex(id);
    me.waiting.push({ seq: me.seq, id: me.id, packets: packets.map(toBase64), text, reader, written_ms: Date.now() });
    await this.save();
    return packets.length;
  }

  /** Returns the node's answer, after it knows whose phone this is. */
  async bound() {
    let node = await get("/api/guest");
    if (node.feed !== this.me.feed) {
      await post("/api/guest/bind", { feed: this.me.feed, signature: toHex(await prove(this.me.key, node.challenge)) });
      node = await get("/api/guest");
    }
    return node;
  }

  /** Compares with the node, and sends it what waits. */
  async sync() {
    if (!this.possible || !this.me) return;
    try {
      await this.alone(() => this.send());
      this.problem = null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problem = ["lost", "token"].includes(error.kind) ? null : `${error.message} ${error.hint}`;
    }
    this.changed();
  }

  async send() {
    if (!this.me) return; // another tab deleted the key
    const node = await this.bound();
    this.node = node;
    this.trouble = troubleOf(this.me, node);
    if (this.trouble) return;
    await this.drop(node.seq);
    for (const entry of [...this.me.waiting]) {
      await post("/api/guest/publish", { packets: entry.packets });
      await this.drop(entry.seq);
    }
  }

  async drop(seq) {
    const waiting = this.me.waiting.filter((entry) => entry.seq > seq);
    if (waiting.length === this.me.waiting.length) return;
    this.me.waiting = waiting;
    await this.save();
    this.changed();
  }
}

/** Returns why this browser must not sign: somebody writes with this key elsewhere, or may have. */
function troubleOf(me, node) {
  if (me.seq === null) return "restored";
  const known = node.seq === me.seq ? me.id : me.waiting.find((entry) => entry.seq === node.seq)?.id;
  const differs = node.seq > me.seq || (node.seq > 0 && known !== undefined && known !== null && known !== node.entry);
  return differs ? "elsewhere" : null;
}

export const person = new Person();
