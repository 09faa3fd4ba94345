// The choice of a language, each by its own name: who cannot read the page finds it, too.

import { h } from "/static/dom.js";
import { choose, chosen, language, NAMES, t } from "/static/language.js";

/** Returns a label with a list of languages. */
export function languageChoice() {
  const now = chosen() ?? "";
  const option = (value, text) => h("option", { value, text, selected: value === now, lang: value || null });
  const select = h("select", { id: "language", onchange: () => choose(select.value) }, option("", t("As in the browser")), ...Object.entries(NAMES).map(([value, name]) => option(value, name)));
  return h("p", { class: "language" }, h("label", { for: "language", text: language === "en" ? "Language" : `${t("Language")} (Language)` }), " ", select);
}
