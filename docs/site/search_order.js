// How the site's search ranks pages: how-tos and references before the reasons for decisions. The numbers are those of
// Sphinx; what it takes is https://www.sphinx-doc.org/en/master/usage/configuration.html#confval-html_search_scorer
"use strict";

var Scorer = {
  score: ([page, , , , score]) => (page.includes("decisions/") ? score - 30 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
