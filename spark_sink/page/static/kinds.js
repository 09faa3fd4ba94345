// Kinds of packets, verdicts and uses of airtime: names as a reader says them, in the order they are shown.

const KINDS = [
  ["entry", "entries"], ["chunk", "chunks"], ["want", "WANT"], ["chnk", "CHNK"], ["claim", "CLAIM"], ["novelty", "NOVELTY"],
  ["sketch", "SKETCH"], ["ask", "ASK"], ["feeds", "FEEDS"], ["zap", "ZAP"], ["ping", "ping"], ["pong", "pong"], ["other", "other"], ["unknown", "unknown"],
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
  ["news", "news", "entries and chunks that were new to somebody who heard them"],
  ["repair", "repair", "the set of feeds, and asking and answering that brought somebody something"],
  ["redundant", "redundant", "heard, but known to all who heard it"],
  ["unheard", "unheard", "heard by nobody whose log we have"],
  ["overhead", "overhead", "beacons and questions that brought nobody anything"],
];
