// The user's own position: found by the phone when they ask for it, shown as it would be published, published, withdrawn.

import { ApiError, get, newId, post } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { t } from "/static/language.js";
import { distance } from "/static/mercator.js";
import { costOf, duration, line } from "/static/words.js";

const PRECISIONS = [100, 1_000, 10_000, 0]; // metres of the grid; 0: exact
const VALIDITIES = [60, 240, 1_440, 10_080, 0]; // minutes; 0: until the next one
const USUAL = 240;
const FINE = 1_000; // metres below which the phone switches its receiver on
const PATIENCE_MS = 60_000; // a receiver that was off needs half a minute
const DENIED = 1; // GeolocationPositionError.PERMISSION_DENIED
const EVERYBODY = "";

/** The position of the node's user: the node makes the records. */
const nodePosition = {
  read: () => get("/api/position"),
  async preview(request) {
    const found = await post("/api/position/cost", request);
    return { ...found, words: costOf(found) };
  },
  share: (request) => post("/api/position/share", request),
  stop: () => post("/api/position/stop", { once: newId() }),
};

export class PositionForm {
  /** `done()` is called when something was published; `position` reads, previews, shares and stops. */
  constructor({ done, position = nodePosition }) {
    this.position = position;
    this.onDone = done;
    this.place = null; // what the phone found
    this.round = 0; // of choices: what an earlier one leads to is not shown
    const choice = (id, words, options) => {
      const select = h("select", { id, onchange: () => this.preview() }, options);
      return [h("p", { class: "choice" }, h("label", { for: id, text: words }), " ", select), select];
    };
    const [precision, precisionSelect] = choice("precision", t("Precision"), PRECISIONS.map((metres) => h("option", { value: metres, text: metres ? t("About {distance}", { distance: distance(metres) }) : t("Exact") })));
    const [validity, validitySelect] = choice("validity", t("Valid for"), VALIDITIES.map((minutes) => h("option", { value: minutes, selected: minutes === USUAL, text: minutes ? duration(minutes * 60e6) : t("Until the next one") })));
    const [audience, audienceSelect] = choice("audience", t("Readable by"), []);
    Object.assign(this, { precision: precisionSelect, validity: validitySelect, audience: audienceSelect });
    this.status = h("p", { role: "status" });
    this.find = h("button", { type: "button", class: "button quiet", text: t("Find my position"), onclick: () => this.locate() });
    this.asked = h("div", { class: "asked", hidden: true, role: "group", "aria-label": t("Position to publish") });
    this.stop = h("div", { class: "cards", hidden: true }, h("p", { text: t("You share a position.") }), h("div", {}, h("button", { type: "button", class: "button quiet", text: t("Stop sharing"), onclick: () => this.withdraw() })));
    const possible = window.isSecureContext && "geolocation" in navigator;
    const parts = possible ? [h("p", { class: "soft", text: t("Nothing is sent until you publish it.") }), precision, validity, audience, h("div", {}, this.find), this.asked] : [h("p", { text: t("Browsers tell a page where you are over HTTPS only. On the node, tinyssb position share publishes a position.") })];
    this.element = h("details", { class: "card" }, h("summary", { text: t("Your position") }), h("div", { class: "cards" }, this.stop, ...parts, this.status));
    this.element.addEventListener("toggle", () => { if (this.element.open) this.refresh(); });
  }

  /** Shows the groups, and whether a position is shared. */
  async refresh() {
    if (!this.element.open) return;
    await this.attempt(async () => {
      const { groups, shown } = await this.position.read();
      this.stop.hidden = !shown.length;
      const drawn = JSON.stringify(groups);
      if (drawn === this.drawn) return;
      this.drawn = drawn;
      const chosen = this.audience.value;
      this.audience.replaceChildren(h("option", { value: EVERYBODY, text: t("Everyone in the mesh") }), ...groups.map(({ name, title }) => h("option", { value: name, text: line(title, 40) })));
      this.audience.value = [EVERYBODY, ...groups.map(({ name }) => name)].includes(chosen) ? chosen : EVERYBODY;
      if (this.audience.value !== chosen) this.preview(); // its group is gone
    });
  }

  async locate() {
    this.clear();
    setText(this.status, t("Looking for the position…"));
    const { round } = this;
    this.find.disabled = true;
    try {
      const { coords } = await new Promise((found, failed) => navigator.geolocation.getCurrentPosition(found, failed, { enableHighAccuracy: Number(this.precision.value) < FINE, timeout: PATIENCE_MS, maximumAge: PATIENCE_MS }));
      if (round !== this.round) return;
      this.place = { latitude: coords.latitude, longitude: coords.longitude, accuracy_m: coords.accuracy };
      setText(this.status, "");
      await this.preview();
    } catch (error) {
      if (error.code !== DENIED && !(error.code > DENIED)) throw error;
      if (round === this.round) this.fail(error.code === DENIED ? t("This browser does not tell the page where you are. Allow it in the browser’s settings.") : t("No position was found. Try again under the open sky."));
    } finally {
      this.find.disabled = false;
    }
  }

  get request() {
    return { ...this.place, precision_m: Number(this.precision.value), valid_minutes: Number(this.validity.value), group: this.audience.value || null };
  }

  /** Shows what would be published, to whom, and what it costs. */
  async preview() {
    if (!this.place) return;
    this.round += 1;
    const { round, request } = this;
    await this.attempt(async () => {
      const found = await this.position.preview(request);
      if (round !== this.round) return;
      const place = `${found.latitude.toFixed(5)}, ${found.longitude.toFixed(5)} ±${distance(found.radius_m)}`;
      const readers = request.group ? t("Members of the group can read it for good, also when screens no longer show it.") : t("Everyone in the mesh can read it for good, also when screens no longer show it.");
      const once = newId(); // pressed twice, it is published once
      const yes = h("button", { type: "button", class: "button", text: t("Publish it"), onclick: () => this.publish({ ...request, once }) });
      this.asked.replaceChildren(h("p", {}, h("strong", { text: place })), h("p", { text: readers }), h("p", { class: "soft", text: found.words }), h("span", { class: "buttons" }, yes, h("button", { type: "button", class: "button quiet", text: t("Not now"), onclick: () => this.clear() })));
      this.asked.hidden = false;
      if (document.activeElement === this.find || document.activeElement === document.body) yes.focus();
    });
  }

  publish(request) {
    return this.change(() => this.position.share(request), t("Your position is published."));
  }

  withdraw() {
    return this.change(() => this.position.stop(), t("Screens no longer show your position. Your feed keeps it."));
  }

  async change(work, done) {
    await this.attempt(async () => {
      const { waits } = await work();
      this.clear();
      setText(this.status, waits ? t("Signed. It waits on this phone until the node is near.") : done);
      this.onDone();
    });
    await this.refresh();
  }

  async attempt(work) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.fail(`${error.message} ${error.hint}`);
    }
  }

  fail(text) {
    this.asked.hidden = true;
    this.status.className = "failed";
    setText(this.status, text);
  }

  /** Forgets what the phone found. */
  clear() {
    this.round += 1;
    this.place = null;
    this.asked.hidden = true;
    this.status.className = "";
    setText(this.status, "");
  }
}
