// Messages in the language of the browser, or in the one that was chosen on this device. The texts in the code are English, and the
// names of translations: /static/de.json has the German ones, made from the catalogue in tinyssb_node/screens/catalogues.

const KEY = "language";
const AGAIN_MS = [500, 2_000, 5_000]; // before each further attempt
const PATIENCE_MS = 40_000;
/** Languages of the page, each by its own name. */
export const NAMES = { en: "English", de: "Deutsch", es: "Español", fr: "Français", uk: "Українська" };
const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);

/** Returns the language that was chosen on this device; null: the browser's. */
export function chosen() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off
  }
}

const wanted = [chosen(), ...navigator.languages].find((tag) => tag?.split("-")[0] in NAMES) ?? "en";
/** Language of the messages, such as "de". */
export const language = wanted.split("-")[0];
/** Language for numbers and dates, such as "de-CH"; undefined: the browser's. */
export const locale = wanted === "en" ? undefined : wanted;

/** Returns the translations, or none: then messages are English. */
async function load() {
  for (const wait of [...AGAIN_MS, null]) {
    try {
      const answer = await fetch(`/static/${language}.json`, { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (answer.ok) return await answer.json();
    } catch {
      // tried again, as if it had been refused
    }
    if (wait === null || !navigator.onLine) break;
    await new Promise((done) => setTimeout(done, wait));
  }
  return { messages: {} };
}

const { messages, forms } = language === "en" ? { messages: {} } : await load();
const number = new Intl.NumberFormat(locale);

/** Puts `values` into the places of a text that are named so, such as {name}. */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);

/** Returns a message in the language of the page. */
export const t = (text, values = {}) => filled(messages[text] ?? text, values);

/** Returns the form of a message that `n` things need; {n} is the number itself. `forms` has the form of each number up to 199. */
export function tn(n, one, many, values = {}) {
  const found = messages[one];
  const text = found ? found[forms[n < 200 ? n : 100 + (n % 100)]] : n === 1 ? one : many;
  return filled(text, { n: number.format(n), ...values });
}

/** Returns the parts of a message in which elements, or lists of them, stand in some places: a text that was not filled there. */
export function parts(text, values) {
  return text.split(/\{(\w+)\}/).flatMap((part, place) => (place % 2 ? values[part] : part)).filter((part) => part !== "");
}

/** Sets the language of the document, and translates the texts in it that are marked. */
function translateDocument() {
  document.documentElement.lang = language;
  document.documentElement.dir = RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr";
  for (const part of document.querySelectorAll("[data-message]")) part.textContent = t(part.textContent);
  for (const part of document.querySelectorAll("[data-label]")) part.setAttribute("aria-label", t(part.getAttribute("aria-label")));
}

translateDocument();

/** Sets the language on this device, and opens the page again in it; empty: the browser's. */
export function choose(value) {
  try {
    if (value) localStorage.setItem(KEY, value);
    else localStorage.removeItem(KEY);
  } catch {
    return; // storage is switched off: only the browser's language is possible
  }
  location.reload();
}
