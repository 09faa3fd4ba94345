// A private group: who can read what, what the node will do, and changes, each shown with its cost before it is made.

import { ApiError, get, newId, post } from "/static/api.js";
import { arrange, h, setText } from "/static/dom.js";
import { t } from "/static/language.js";
import { who } from "/static/message.js";
import { line } from "/static/words.js";

const ACTIONS = {
  create: { title: t("New group"), next: t("Show the cost"), yes: t("Create it") },
  add: { title: t("Add people"), next: t("Show the cost"), yes: t("Add them") },
  exclude: { title: t("Exclude people"), next: t("Show the cost"), yes: t("Exclude them") },
  leave: { title: t("Leave the group"), next: t("Leave…"), yes: t("Leave it") },
  accept: { title: t("Accept the invitation"), next: t("Accept…"), yes: t("Accept") },
  decline: { title: t("Decline the invitation"), next: t("Decline…"), yes: t("Decline") },
  return: { title: t("Take part again"), next: t("Return…"), yes: t("Return") },
  rename: { title: t("Rename the group"), next: t("Show the cost"), yes: t("Rename it") },
  mute: { title: t("Mute"), next: t("Mute…"), yes: t("Mute it") },
  history: { title: t("Older messages"), next: t("Request them…"), yes: t("Request them now") },
  unmute: { title: t("Muted"), next: t("Unmute…"), yes: t("Unmute it") },
  accept_fork: { title: t("Accept"), next: t("Accept…"), yes: t("Accept it for all members") },
  reject_fork: { title: t("Reject"), next: t("Reject…"), yes: t("Reject it on this node") },
};
const LINE_MAX = 400;

/** A form for one change: choose, read what it costs and does not protect, confirm. */
class ChangeForm {
  constructor({ action, group = null, fork = null, done }) {
    this.action = action;
    this.group = group;
    this.fork = fork;
    this.onDone = done;
    this.once = null;
    this.words = ACTIONS[action];
    this.name = ["create", "rename"].includes(action) ? h("input", { id: "group-name", name: "name", required: true, maxlength: "200", autocomplete: "off" }) : null;
    this.days = action === "create" ? h("input", { id: "erase-days", name: "days", type: "number", min: "1", max: "365", step: "1", inputmode: "numeric", "aria-describedby": "erase-words" }) : null;
    this.picks = h("div", { class: "picks" });
    this.people = action === "add" || action === "exclude" || action === "create" ? h("fieldset", {}, h("legend", { class: "soft", text: t("People") }), this.picks) : null;
    this.status = h("p", { role: "status" });
    this.next = h("button", { class: "button quiet", text: this.words.next });
    this.asked = h("div", { class: "cards", hidden: true, tabindex: "-1" });
    this.element = h(
      "form",
      { class: fork ? null : "card", "aria-label": this.words.title },
      fork ? null : h("h2", { text: this.words.title }),
      this.name && h("label", { for: "group-name", text: t("Name; its members can read it") }),
      this.name,
      this.people,
      this.days && h("label", { for: "erase-days", text: t("Erase texts after so many days; empty: never") }),
      this.days,
      this.days && h("p", { class: "soft", id: "erase-words", text: t("Erased texts can be read by no thief of a member’s device, and not by you. This cannot be changed later.") }),
      h("div", {}, this.next),
      this.asked,
      this.status,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.preview();
    });
    this.element.addEventListener("change", () => this.unask());
  }

  /** Offers these people; marks stay where they are. */
  offer(authors) {
    const drawn = JSON.stringify(authors);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const marked = new Set(this.chosen());
    const picks = authors.map((author) => h("label", { class: "pick" }, h("input", { type: "checkbox", value: author.feed, checked: marked.has(author.feed) }), who(author)));
    this.picks.replaceChildren(...(picks.length ? picks : [h("p", { class: "soft", text: t("There is nobody to choose.") })]));
  }

  chosen() {
    return [...this.picks.querySelectorAll("input:checked")].map((one) => one.value);
  }

  request() {
    const request = { action: this.action, people: this.chosen() };
    if (this.group) request.group = this.group;
    if (this.fork) request.fork = this.fork;
    if (this.name) request.name = this.name.value.trim();
    if (this.days?.value) request.erase_days = this.days.valueAsNumber;
    return request;
  }

  async preview() {
    const request = this.request();
    if (!request.people.length && ["add", "exclude"].includes(this.action)) {
      this.status.className = "failed";
      setText(this.status, t("Choose people first."));
      return;
    }
    await this.attempt(async () => {
      const { lines } = await post("/api/group/preview", request);
      this.asked.replaceChildren(
        ...lines.map((text) => h("p", { text: line(text, LINE_MAX) })),
        h("p", { class: "buttons" }, h("button", { type: "button", class: "button", text: this.words.yes, onclick: () => this.confirm(request) }), h("button", { type: "button", class: "button quiet", text: t("Cancel"), onclick: () => this.unask() })),
      );
      this.onAsk?.(true);
      this.asked.hidden = false;
      this.next.hidden = true;
      this.asked.focus();
    });
  }

  unask() {
    this.onAsk?.(false);
    this.asked.hidden = true;
    this.next.hidden = false;
    this.once = null;
  }

  async confirm(request) {
    if (this.sending) return;
    this.sending = true;
    this.once ??= newId();
    await this.attempt(async () => {
      const answer = await post("/api/group/change", { ...request, once: this.once });
      for (const one of this.picks.querySelectorAll("input:checked")) one.checked = false;
      this.unask();
      if (!this.fork) setText(this.status, line(answer.done, LINE_MAX)); // a decision leaves the page
      this.onDone(answer);
    });
    this.sending = false;
  }

  async attempt(work) {
    this.status.className = "";
    setText(this.status, "");
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.status.className = "failed";
      setText(this.status, `${error.message} ${error.hint}`);
    }
  }
}

const others = async () => (await get("/api/people")).rows.filter((one) => !one.own && !one.blocked);

export class GroupView {
  constructor({ group }) {
    this.group = group;
    this.title = h("h1", { tabindex: "-1", text: t("Group") });
    this.about = h("p", { class: "soft", role: "status", text: t("Loading…") });
    this.now = h("ul");
    this.former = h("ul");
    this.formerHead = h("h3", { text: t("Cannot read what is written now") });
    this.kept = h("p", { class: "soft" });
    this.tasks = h("ul");
    this.decisions = new Map(); // fork: Decision
    this.waiting = h("div", { class: "cards" });
    this.decision = h("p", { role: "status" });
    this.readers = h("section", { class: "card", hidden: true, "aria-label": t("Who can read what") }, h("h2", { text: t("Who can read what") }), h("p", { class: "soft", text: t("Times are when the new key arrived here.") }), this.now, this.formerHead, this.former, this.kept);
    const done = () => this.refresh();
    this.forms = Object.fromEntries(["history", "accept", "decline", "add", "exclude", "rename", "mute", "unmute", "leave", "return"].map((action) => [action, new ChangeForm({ action, group, done })]));
    for (const form of Object.values(this.forms)) form.element.hidden = true;
    this.element = h(
      "div",
      { class: "sheet" },
      this.title,
      h("p", {}, h("a", { href: `/c/${group}`, class: "plain", "data-page": true, text: t("Messages of this group") })),
      this.about,
      this.decision,
      this.waiting,
      this.readers,
      h("section", { class: "card", "aria-label": t("Your node") }, h("h2", { text: t("Your node") }), this.tasks),
      ...Object.values(this.forms).map((form) => form.element),
    );
  }

  async refresh() {
    try {
      const [found, people] = await Promise.all([get("/api/group", { group: this.group }), others()]);
      this.draw(found, people);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.about, this.readers.hidden ? `${error.message} ${error.hint}` : `${error.message} ${t("Below is its last known state.")}`);
    }
  }

  draw(found, people) {
    setText(this.title, line(found.title));
    const told = found.invitation || found.arriving;
    const invitation = told ? `${line(told, LINE_MAX)}. ` : "";
    setText(this.about, `${invitation}${found.note ? t("You cannot write here: {reason}.", { reason: found.note }) : t("You {standing}.", { standing: line(found.standing, LINE_MAX) })}`);
    const now = found.readers.filter((one) => one.current);
    const former = found.readers.filter((one) => !one.current);
    this.now.replaceChildren(...now.map(reader));
    this.former.replaceChildren(...former.map(reader));
    this.formerHead.hidden = !former.length;
    setText(this.kept, found.kept);
    this.readers.hidden = found.state === "arriving";
    const problem = found.problem === null ? [] : [h("li", { class: "failed", text: line(found.problem, LINE_MAX) })];
    this.tasks.replaceChildren(...problem, ...[...found.forks, ...found.tasks].map((text) => h("li", { text: line(text, LINE_MAX) })));
    const member = found.state === "member";
    this.drawDecisions(member ? found.reviews : []);
    for (const action of ["add", "exclude", "rename", "leave"]) this.forms[action].element.hidden = !member;
    this.forms.mute.element.hidden = !member || found.muted;
    this.forms.unmute.element.hidden = !member || !found.muted;
    this.forms.accept.element.hidden = !["invited", "declined"].includes(found.state);
    this.forms.decline.element.hidden = found.state !== "invited";
    this.forms.history.element.hidden = found.state !== "arriving";
    this.forms.return.element.hidden = found.state !== "left";
    const inside = new Set(now.map((one) => one.feed));
    this.forms.add.offer(people.filter((one) => !inside.has(one.feed)));
    this.forms.exclude.offer(now.filter((one) => !one.own));
  }

  /** Shows what was decided: the decision itself leaves the page. */
  decided(answer) {
    setText(this.decision, line(answer.done, LINE_MAX));
    this.title.focus();
    this.refresh();
  }

  drawDecisions(reviews) {
    const known = this.decisions;
    this.decisions = new Map(reviews.map((review) => [review.fork, known.get(review.fork) ?? new Decision(this.group, review, (answer) => this.decided(answer))]));
    for (const review of reviews) this.decisions.get(review.fork).draw(review);
    arrange(this.waiting, [...this.decisions.values()].map((one) => one.element));
  }
}

/** A fork that waits for the user: what happened, and a button for each decision. */
class Decision {
  constructor(group, review, done) {
    const make = (action) => new ChangeForm({ action, group, fork: review.fork, done });
    this.accept = make("accept_fork");
    this.reject = make("reject_fork");
    this.lines = h("div", { class: "cards" });
    // What is asked repeats these lines, with the cost.
    this.accept.onAsk = this.reject.onAsk = (asked) => { this.lines.hidden = asked; };
    this.element = h("section", { class: "card cards", "aria-label": t("Your decision") }, h("h2", { text: t("Your decision") }), this.lines, this.accept.element, this.reject.element);
    this.draw(review);
  }

  draw(review) {
    const drawn = JSON.stringify(review);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.lines.replaceChildren(...review.lines.map((text) => h("p", { text: line(text, LINE_MAX) })));
    this.reject.element.hidden = review.rejected;
  }
}

export class NewGroupView {
  constructor() {
    this.form = new ChangeForm({ action: "create", done: (answer) => this.go?.(`/c/${answer.group}`) });
    this.element = h("div", { class: "sheet" }, h("h1", { tabindex: "-1", text: t("New group") }), h("p", { class: "soft", text: t("Only its members can read a group, and you can exclude members again. Its cost is shown before it is made.") }), this.form.element);
  }

  async refresh() {
    await this.form.attempt(async () => this.form.offer(await others()));
  }
}

function reader(one) {
  const words = one.reason ? `${one.reads}; ${one.reason}` : one.reads;
  return h("li", { class: "reader" }, h("span", {}, who(one)), h("span", { text: line(words, LINE_MAX) }));
}
