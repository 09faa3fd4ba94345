// Kinds of packets, verdicts and uses of airtime: names as a reader says them, in the order they are shown.

const KINDS = [
  ["entry", "entries"], ["coded", "coded entries"], ["chunk", "chunks"], ["coded_chunk", "coded chunks"], ["want", "WANT"], ["chnk", "CHNK"], ["named_want", "named WANT"], ["named_chnk", "named CHNK"], ["newest", "NEWEST"], ["anchor", "ANCHOR"],
  ["diff", "DIFF"], ["claim", "CLAIM"], ["novelty", "NOVELTY"],
  ["sketch", "SKETCH"], ["ask", "ASK"], ["feeds", "FEEDS"], ["more", "MORE"], ["zap", "ZAP"], ["ping", "ping"], ["pong", "pong"], ["other", "other"], ["unknown", "unknown"],
];
const NAMES = new Map(KINDS);
const ORDER = new Map(KINDS.map(([kind], at) => [kind, at]));

export const kindName = (kind) => NAMES.get(kind) ?? kind;

/** Kinds in the order of the list above; those this page does not know come last. */
export const byKind = (a, b) => (ORDER.get(a) ?? KINDS.length) - (ORDER.get(b) ?? KINDS.length) || (a < b ? -1 : a > b ? 1 : 0);

const VERDICTS = new Map([["sent", "sent"], ["new", "new"], ["duplicate", "duplicate"], ["not_ours", "not ours"], ["invalid", "invalid"]]);

export const VERDICT_NAMES = [...VERDICTS.keys()];
export const verdictName = (verdict) => VERDICTS.get(verdict) ?? verdict;

/** What transmissions were good for: [use, name, what it means]. */
export const USES = [
  ["news", "news", "entries and chunks that were new to a receiver"],
  ["repair", "repair", "packets about the set of feeds, requests and replies that a receiver could use"],
  ["redundant", "redundant", "heard, but already stored by every receiver"],
  ["unheard", "unheard", "not heard by any node whose log was read"],
  ["overhead", "overhead", "adverts and requests that no receiver could use"],
];
