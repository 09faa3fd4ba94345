// Unread messages in the title, and notifications of new ones, by the user's choice on this device.

import { ApiError, get } from "/static/api.js";
import { h, setText } from "/static/dom.js";
import { t, tn } from "/static/language.js";
import { line, nameOf, summaryOf } from "/static/words.js";

const KEY = "notify";
/** Browsers notify only for pages from this machine itself, or over HTTPS. */
const possible = () => window.isSecureContext && "Notification" in window;

function chosen() {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false; // storage is switched off
  }
}

function choose(on) {
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // as above: the choice lasts as long as the page
  }
}

export class Notices {
  /** `go(path)` opens a conversation. */
  constructor(go) {
    this.go = go;
    this.last = null; // the last message of each conversation, by name; null: nothing was seen yet
    this.on = chosen();
    this.button = h("button", { type: "button", class: "plain", onclick: () => this.toggle() });
    this.draw();
  }

  draw() {
    this.button.hidden = !possible();
    const blocked = possible() && Notification.permission === "denied";
    this.button.disabled = blocked;
    setText(this.button, blocked ? t("Notifications are blocked by the browser") : this.working ? t("Stop notifications") : t("Notify me of new messages"));
  }

  get working() {
    return this.on && possible() && Notification.permission === "granted";
  }

  async toggle() {
    this.on = !this.working && (await Notification.requestPermission()) === "granted";
    choose(this.on);
    this.draw();
  }

  /** Requests the conversations, where no view does. */
  async refresh() {
    try {
      this.see((await get("/api/conversations")).rows, null);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** Takes the list of conversations; `open`: the one that its reader has before them, if the page is visible. */
  see(rows, open) {
    const elsewhere = rows.filter((row) => row.unread > 0 && (document.hidden || row.name !== open));
    const unread = elsewhere.reduce((sum, row) => sum + row.unread, 0);
    document.title = unread ? `(${unread}) tinySSB` : "tinySSB";
    const before = this.last;
    this.last = new Map(rows.map((row) => [row.name, row.last?.id]));
    if (before === null || !this.working) return;
    for (const row of elsewhere) if (!row.last.own && before.get(row.name) !== row.last.id) this.notify(row);
  }

  async notify(row) {
    const where = row.title ? t("Group {name}", { name: line(row.title, 40) }) : row.name === "public" ? t("Public") : t("Private");
    const body = row.unread > 1 ? tn(row.unread, "{n} new message; the last: {message}", "{n} new messages; the last: {message}", { message: summaryOf(row.last, 120) }) : summaryOf(row.last, 120);
    const title = `${nameOf(row.last.author)} · ${where}`;
    const options = { body, tag: row.name, icon: "/static/icon-192.png", data: `/c/${row.name}` };
    const worker = await navigator.serviceWorker?.getRegistration();
    if (worker) {
      await worker.showNotification(title, options);
      return;
    }
    try {
      const shown = new Notification(title, options);
      shown.addEventListener("click", () => {
        window.focus();
        this.go(`/c/${row.name}`);
        shown.close();
      });
    } catch {
      // Chrome on Android notifies only through a service worker, which there is over HTTPS alone
      this.on = false;
      choose(false);
      setText(this.button, t("This browser cannot notify"));
      this.button.disabled = true;
    }
  }
}
