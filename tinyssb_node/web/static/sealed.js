// Private texts for one person, sealed and opened in this browser (docs/formats/short-texts.md).

import { bipf, concat, fromHex, minutesOf, START_S, toHex } from "/static/entries.js";

const TAG = 16;
const HEAD = TAG + 32; // before the encrypted bytes: the tag, and the reader's feed for the author alone
const ID = 20;
const P = 2n ** 255n - 19n;

const utf8 = (text) => new TextEncoder().encode(text);
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const xor = (one, other) => one.map((byte, at) => byte ^ other[at]);

async function hmac(key, ...parts) {
  const made = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", made, concat(...parts)));
}

const littleEndian = (bytes) => BigInt(`0x${toHex(bytes.slice().reverse())}`);

function power(base, exponent) {
  let [result, square] = [1n, base % P];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

/** Returns the curve25519 key of an Ed25519 key: u = (1 + y) / (1 - y), RFC 7748. Both are public. */
export function curveKey(feed) {
  const y = littleEndian(fromHex(feed)) & ((1n << 255n) - 1n);
  const u = ((1n + y) * power((P + 1n - (y % P)) % P, P - 2n)) % P;
  return fromHex(u.toString(16).padStart(64, "0")).reverse();
}

const rotated = (word, by) => (word << by) | (word >>> (32 - by));
const QUARTERS = [[0, 4, 8, 12], [5, 9, 13, 1], [10, 14, 2, 6], [15, 3, 7, 11], [0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]];

/** Mixes the sixteen words of Salsa20 by its 20 rounds. */
function mixed(words) {
  const x = Int32Array.from(words);
  for (let round = 0; round < 10; round += 1) {
    for (const [a, b, c, d] of QUARTERS) {
      x[b] ^= rotated(x[a] + x[d], 7);
      x[c] ^= rotated(x[b] + x[a], 9);
      x[d] ^= rotated(x[c] + x[b], 13);
      x[a] ^= rotated(x[d] + x[c], 18);
    }
  }
  return x;
}

function wordsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, at) => view.getInt32(4 * at, true));
}

function bytesOf(words) {
  const view = new DataView(new ArrayBuffer(4 * words.length));
  words.forEach((word, at) => view.setInt32(4 * at, word, true));
  return new Uint8Array(view.buffer);
}

const SIGMA = wordsOf(utf8("expand 32-byte k"));
const laidOut = (key, nonce) => [SIGMA[0], ...key.slice(0, 4), SIGMA[1], ...nonce, SIGMA[2], ...key.slice(4), SIGMA[3]];

/** Encrypts or decrypts: XOR with the keystream of XSalsa20 from its byte 32 on, as in a secretbox. */
export function cipher(key, nonce, data) {
  const first = mixed(laidOut(wordsOf(key), wordsOf(nonce.slice(0, 16))));
  const inner = [0, 5, 10, 15, 6, 7, 8, 9].map((at) => first[at]);
  const rest = wordsOf(nonce.slice(16));
  const stream = new Uint8Array(64 * Math.ceil((32 + data.length) / 64));
  for (let block = 0; 64 * block < stream.length; block += 1) {
    const words = laidOut(inner, [...rest, block, 0]);
    stream.set(bytesOf(mixed(words).map((word, at) => word + words[at])), 64 * block);
  }
  return xor(data, stream.subarray(32));
}

const cipherOf = (key, tag, data) => cipher(key, concat(tag, new Uint8Array(8)), data);

/** The half of a feed's key that opens what was sealed for it. Scripts can use it, and not read it. */
export class SealKey {
  constructor({ feed, secret }) {
    this.feed = feed;
    this.secret = secret;
    this.roots = new Map(); // by feed: what both share
  }

  /** Returns the secret of two feeds; null if the other one is no key that anybody can have. */
  root(other) {
    if (!this.roots.has(other)) this.roots.set(other, this.derive(other));
    return this.roots.get(other);
  }

  async derive(other) {
    try {
      const theirs = await crypto.subtle.importKey("raw", curveKey(other), "X25519", false, []);
      const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, this.secret, 256));
      return await hmac(await sha256(utf8("tinyssb private text 1")), shared);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      return null; // of small order
    }
  }

  async pairKeys(other, author, reader) {
    const root = await this.root(other);
    if (root === null) return null;
    const both = concat(fromHex(author), fromHex(reader));
    return { tag: await hmac(root, utf8("tag"), both), cipher: await hmac(root, utf8("cipher"), both) };
  }

  /** Encrypts a reader's feed for the author alone, or decrypts it. */
  async hidden(tag, reader) {
    const key = await hmac(await this.root(this.feed), utf8("reader"), fromHex(this.feed));
    return xor(reader, await hmac(key, tag));
  }

  /** Returns the content of an entry that only `reader` and this key's owner can read; null if nobody can be `reader`. */
  async seal(text, ties, reader, nowS) {
    const keys = await this.pairKeys(reader, this.feed, reader);
    if (keys === null) return null;
    const clear = padded(shortText(text, ties, nowS));
    const tag = (await hmac(keys.tag, clear)).slice(0, TAG);
    return bipf(concat(tag, await this.hidden(tag, fromHex(reader)), cipherOf(keys.cipher, tag, clear)));
  }

  /** Returns what an entry of `author` says to this key's owner, or what they wrote, and with whom: `{ text, ties, saidS, other }`; null if it is none. */
  async open(content, author) {
    const box = boxIn(content);
    if (!box || box.length <= HEAD) return null;
    const tag = box.slice(0, TAG);
    const own = author === this.feed;
    const reader = own ? toHex(await this.hidden(tag, box.slice(TAG, HEAD))) : this.feed;
    const other = own ? reader : author;
    const keys = await this.pairKeys(other, author, reader);
    if (keys === null) return null;
    const clear = cipherOf(keys.cipher, tag, box.slice(HEAD));
    const proof = (await hmac(keys.tag, clear)).slice(0, TAG);
    if (toHex(proof) !== toHex(tag)) return null;
    const found = readShortText(clear);
    return found && { ...found, other };
  }
}

/** Returns a text with its time, and the messages that it follows. */
function shortText(text, ties, nowS) {
  const time = new Uint8Array(4);
  new DataView(time.buffer).setUint32(0, minutesOf(nowS));
  return concat(Uint8Array.of(0b1111 | (ties.length << 4)), time.slice(1), ...ties.map(fromHex), utf8(text));
}

/** Parses a short text with whole ties, as private ones have them; null if it is none. */
function readShortText(bytes) {
  const [form] = bytes;
  if ((form & 0b111) !== 0b111 || form & 0x80) return null;
  const wide = Boolean(form & 0b1000);
  const start = wide ? 4 : 3;
  const end = start + ID * ((form >> 4) & 7);
  const zero = bytes.indexOf(0, end);
  const raw = bytes.slice(end, zero < 0 ? bytes.length : zero);
  if (!raw.length) return null;
  const ties = [];
  for (let at = start; at < end; at += ID) ties.push(toHex(bytes.slice(at, at + ID)));
  const minutes = wide ? (bytes[1] << 16) | (bytes[2] << 8) | bytes[3] : 0;
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw), ties, saidS: minutes ? START_S + 60 * minutes : null };
  } catch {
    return null;
  }
}

/** Returns the largest number of bytes that take as many packets as `size`. */
function filling(size) {
  if (size <= 48) return 48;
  const whole = (packets) => 28 + 100 * packets - (packets > 1 ? 2 : 1); // less the length before it
  let packets = 1;
  while (whole(packets) < size) packets += 1;
  return whole(packets);
}

const varintSize = (number) => (number < 0x80 ? 1 : number < 0x4000 ? 2 : 3);

/** Fills the last packet with random bytes: only the number of packets shows. */
function padded(clear) {
  const size = HEAD + clear.length;
  const whole = filling(size + varintSize(size << 3));
  const tag = [2, 3].find((number) => varintSize((whole - number) << 3) === number);
  const room = whole - tag - size;
  return room ? concat(clear, Uint8Array.of(0), crypto.getRandomValues(new Uint8Array(room - 1))) : clear;
}

/** Returns the bytes in content that is one BIPF value of bytes; null if it is none. */
function boxIn(content) {
  let [head, at] = [0, 0];
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = content[at];
    if (byte === undefined) return null;
    head |= (byte & 0x7f) << shift;
    at += 1;
    if (byte < 0x80) break;
  }
  return (head & 7) === 1 && head >> 3 === content.length - at ? content.slice(at) : null;
}
