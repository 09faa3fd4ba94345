// Entries of a feed, composed and signed in this browser (docs/formats/packets.md, messages.md). The node gets packets.

const CONTENT = 48; // bytes of content in an entry
const HEAD = 28; // of them before the pointer to a side chain
const CHUNK = 100; // bytes of content in a packet of a side chain
const ID = 20;
const DMX = 7;
const INLINE = { spec: 48, deployed: 28 };
export const START_S = 1_577_836_800; // 2020, from which times in minutes count
const PROOF = "tinyssb web phone 1\0";

/** Returns a time as contents state it. */
export const minutesOf = (nowS) => Math.floor((nowS - START_S) / 60);

const utf8 = (text) => new TextEncoder().encode(text);
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const padded = (bytes, size) => concat(bytes, new Uint8Array(size - bytes.length));

export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
export const fromBase64 = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
export const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")); // of any length

function varint(number) {
  const bytes = [];
  for (; number >= 0x80; number = Math.floor(number / 0x80)) bytes.push((number % 0x80) + 0x80);
  return Uint8Array.from([...bytes, number]);
}

/** Returns the fewest bytes of a number, as signed little-endian. */
function integer(number) {
  const bytes = [];
  let sign;
  do {
    bytes.push(number - Math.floor(number / 0x100) * 0x100);
    number = Math.floor(number / 0x100);
    sign = bytes.at(-1) >= 0x80 ? -1 : 0;
  } while (number !== sign);
  return Uint8Array.from(bytes);
}

/** Returns a value as BIPF: texts, whole numbers, null, bytes, lists. */
export function bipf(value) {
  const tagged = (kind, payload) => concat(varint(payload.length * 8 + kind), payload);
  if (value === null) return tagged(6, new Uint8Array());
  if (typeof value === "string") return tagged(0, utf8(value));
  if (typeof value === "number") return tagged(2, integer(value));
  if (value instanceof Uint8Array) return tagged(1, value);
  return tagged(4, concat(...value.map(bipf)));
}

/** Returns the content of a public text, as an answer to the message `replyTo` (digits) if it is one. */
export function publicText(text, replyTo, dialect, nowS) {
  if (replyTo || dialect === "deployed") return bipf(["TAV", replyTo ? [toBase64(fromHex(replyTo))] : [], text, null, nowS]);
  return bipf([minutesOf(nowS), text]);
}

/** Returns the content by which an author gives themselves a name. */
export const alias = (name) => bipf(["IAM", name]);

/** Lays out content: type byte, the 48 bytes of the entry, the packets of its side chain. */
export async function split(content, dialect) {
  if (content.length === CONTENT) return { type: 0, field: content, chunks: [] };
  const declared = concat(varint(content.length), content);
  if (declared.length <= INLINE[dialect]) return { type: 1, field: padded(declared, CONTENT), chunks: [] };
  const tail = declared.slice(HEAD);
  const chunks = [];
  let pointer = new Uint8Array(ID);
  for (let at = Math.ceil(tail.length / CHUNK) - 1; at >= 0; at -= 1) {
    const packet = concat(padded(tail.slice(at * CHUNK, (at + 1) * CHUNK), CHUNK), pointer);
    chunks.unshift(packet);
    pointer = (await sha256(packet)).slice(0, ID);
  }
  return { type: 1, field: concat(declared.slice(0, HEAD), pointer), chunks };
}

/** Returns the id in the place of an entry before the first. */
export const firstPrevious = (feed, dialect) => (dialect === "deployed" ? fromHex(feed).slice(0, ID) : new Uint8Array(ID));

/** Signs the entry `seq` of `feed` behind `previous`; returns its id and its packets. */
export async function signEntry(key, { prefix, feed, seq, previous, dialect }, content) {
  const number = new Uint8Array(4);
  new DataView(number.buffer).setUint32(0, seq);
  const name = concat(fromHex(prefix), fromHex(feed), number, previous);
  const { type, field, chunks } = await split(content, dialect);
  const unsigned = concat((await sha256(name)).slice(0, DMX), Uint8Array.of(type), field);
  const packet = concat(unsigned, await signature(key, concat(name, unsigned)));
  return { id: (await sha256(concat(name, packet))).slice(0, ID), packets: [packet, ...chunks] };
}

/** Shows that this browser has the key, without signing anything that could be an entry. */
export const prove = (key, challenge) => signature(key, concat(utf8(PROOF), fromHex(challenge)));

const signature = async (key, bytes) => new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes));

/** Makes of a seed the key that opens private messages, the half on curve25519 of the same identity; null where browsers have none. */
async function secretOf(seed) {
  const scalar = new Uint8Array(await crypto.subtle.digest("SHA-512", seed)).slice(0, 32);
  try {
    return await crypto.subtle.importKey("pkcs8", concat(fromHex("302e020100300506032b656e04220420"), scalar), "X25519", false, ["deriveBits"]); // RFC 8410
  } catch {
    return null;
  } finally {
    scalar.fill(0);
  }
}

/** Makes the keys of a seed of 32 bytes. They stay in the browser: no script can read them. Returns them with the feed. */
export async function keyOf(seed) {
  const der = concat(fromHex("302e020100300506032b657004220420"), seed); // PKCS #8, RFC 8410
  const open = await crypto.subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]);
  const { x } = await crypto.subtle.exportKey("jwk", open);
  const feed = Uint8Array.from(atob(x.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return { key: await crypto.subtle.importKey("pkcs8", der, "Ed25519", false, ["sign"]), secret: await secretOf(seed), feed: toHex(feed) };
}

/** Returns whether this browser signs with Ed25519, and may: pages over plain HTTP may not. */
export async function canSign() {
  try {
    await crypto.subtle.generateKey("Ed25519", false, ["sign"]);
    return true;
  } catch {
    return false;
  }
}

/** Returns the 24 words of a seed (BIP-39). */
export async function wordsOf(seed, list) {
  const bits = [...seed, (await sha256(seed))[0]].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return bits.match(/.{11}/g).map((digits) => list[parseInt(digits, 2)]);
}

/** Returns the seed of 24 words; null if they are not such words. Four letters of a word are enough. */
export async function seedOf(text, list) {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const places = words.map((word) => list.findIndex((known) => known === word || (word.length >= 4 && known.startsWith(word))));
  if (words.length !== 24 || places.includes(-1)) return null;
  const bytes = places.map((place) => place.toString(2).padStart(11, "0")).join("").match(/.{8}/g).map((bits) => parseInt(bits, 2));
  const seed = Uint8Array.from(bytes.slice(0, 32));
  return (await sha256(seed))[0] === bytes[32] ? seed : null;
}
