// Page without figures: each state says what happened and what to do.

import { h } from "./dom.js";

const TITLES = { empty: "Waiting for the first log", missing: "No database yet", unreadable: "This database cannot be shown" };
const STEPS = [
  ["Follow the logs of your nodes as they are written", "tinyssb-sink run LOGS --db FILE"],
  ["Read the existing logs once", "tinyssb-sink backfill LOGS --db FILE"],
  ["Try it without hardware", "make demo"],
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
    steps.length ? h("p", { class: "after", text: "LOGS is the folder that holds one folder of events per node, FILE the database this page was started with. The page updates by itself." }) : null,
  );
}

const ERRORS = {
  lost: ["The page’s server does not answer", "Is it still running where you started it? The page tries again by itself, and keeps the figures already drawn."],
  unknown: ["No log mentions this", "No log that was read so far mentions it. Perhaps the address was cut off when it was copied, or the log has not arrived yet."],
  bad: ["This address has a parameter that makes no sense", "Perhaps it was changed by hand."],
  busy: ["The page’s server could not answer", "The page tries again by itself."],
  broken: ["This view could not be drawn", "Reload the page. If the error comes back, please report it with the text below."],
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
    h("p", { class: "ways" }, h("button", { type: "button", class: "tool", text: "Try again", onclick: retry }), h("a", { href: "/", text: "Mesh" })),
  );
}

function tokenView(error, ontoken) {
  const field = h("input", { type: "password", autocomplete: "current-password", "aria-label": "Token", required: true });
  const submit = (event) => { event.preventDefault(); ontoken(field.value.trim()); };
  return box(
    "token",
    "This page asks for a token",
    h("p", { text: error.message }),
    h("p", { class: "after", text: "The person who started the page chose the token. This browser keeps it until it is closed." }),
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
