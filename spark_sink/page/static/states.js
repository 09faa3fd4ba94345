// What stands on the page when there are no figures: each state says what happened and what to do.

import { h } from "./dom.js";

const TITLES = { empty: "Waiting for the first log", missing: "No database yet", unreadable: "This database cannot be shown" };
const STEPS = [
  ["Follow the logs of your nodes as they are written", "tinyssb-sink run LOGS --db FILE"],
  ["Read once what there is", "tinyssb-sink backfill LOGS --db FILE"],
  ["See it move, with no hardware", "make demo"],
];

const box = (state, title, ...rest) => h("section", { class: "empty", "data-state": state }, h("h2", { text: title }), ...rest);

/** For an answer whose state is not `ready`. */
export function stateView(answer) {
  const steps = answer.state === "unreadable" ? [] : STEPS;
  return box(
    answer.state,
    TITLES[answer.state] ?? "No figures",
    h("p", { text: answer.message ?? "" }),
    ...steps.map(([what, command]) => h("div", { class: "step" }, h("p", { text: what }), h("code", { text: command }))),
    steps.length ? h("p", { class: "after", text: "LOGS is the folder that holds one folder of events per node, FILE the database this page was started with. The page fills by itself." }) : null,
  );
}

const ERRORS = {
  lost: ["The page’s server does not answer", "Is it still running where you started it? It is tried again by itself; figures already drawn stay."],
  unknown: ["Nothing is known of this", "No log that was read so far speaks of it. Perhaps the address was cut when it was copied, or its log has not come yet."],
  bad: ["This address asks for something that cannot be", "Perhaps it was changed by hand."],
  busy: ["The page’s server could not answer", "It is tried again by itself."],
  broken: ["This view could not be drawn", "Reload the page. If it stays so, please report it with the text below."],
};

/** For an error in place of figures; `retry()` tries again, `ontoken(text)` takes a token. */
export function errorView(error, { retry, ontoken }) {
  if (error.kind === "token") return tokenView(error, ontoken);
  const [title, advice] = ERRORS[error.kind] ?? ERRORS.broken;
  return box(
    "error",
    title,
    h("p", { text: error.message }),
    h("p", { class: "after", text: advice }),
    h("p", { class: "ways" }, h("button", { type: "button", class: "tool", text: "Try again", onclick: retry }), h("a", { href: "/", text: "Overview" })),
  );
}

function tokenView(error, ontoken) {
  const field = h("input", { type: "password", autocomplete: "current-password", "aria-label": "Token", required: true });
  const submit = (event) => { event.preventDefault(); ontoken(field.value.trim()); };
  return box(
    "token",
    "This page asks for a token",
    h("p", { text: error.message }),
    h("p", { class: "after", text: "Whoever started the page chose it. It is kept by this browser until it is closed." }),
    h("form", { class: "ways", onsubmit: submit }, field, h("button", { type: "submit", class: "tool", text: "Open" })),
  );
}

/** Draws a view for the first time; where that fails, it ends what it began before the shell says why. */
export async function begin(view) {
  try {
    await view.update({ kind: "query" });
  } catch (error) {
    view.close();
    throw error;
  }
  return view;
}

/** One quiet line in place of a figure that has nothing to show. */
export const nothing = (text) => h("p", { class: "nothing", text });
