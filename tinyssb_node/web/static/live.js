// The stream of changes: opened again after an error, and when keepalives stop.

const SILENCE_MS = 16_000; // the server sends a keepalive every 5 s
const RETRY_MS = [1_000, 2_000, 5_000];

export class Live {
  /** `onChange({number, problem})`, `onState("live" | "lost", since when as a Date)`. */
  constructor(onChange, onState) {
    this.onChange = onChange;
    this.onState = onState;
    this.failures = 0;
    this.open();
    setInterval(() => this.check(), 1_000);
    // After a phone's sleep the connection may be dead without an error.
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.check(); });
    window.addEventListener("online", () => { if (!this.source) this.again(); });
    window.addEventListener("offline", () => this.lost());
  }

  open() {
    this.lastSign = Date.now();
    this.source = new EventSource("/api/events");
    this.source.addEventListener("sign", () => this.sign());
    this.source.addEventListener("change", (event) => {
      this.sign();
      this.onChange(JSON.parse(event.data));
    });
    this.source.addEventListener("error", () => this.lost());
  }

  sign() {
    this.lastSign = Date.now();
    this.failures = 0;
    this.onState("live");
  }

  check() {
    if (this.source && Date.now() - this.lastSign > SILENCE_MS) this.lost();
  }

  lost() {
    if (!this.source) return;
    this.source.close();
    this.source = null;
    this.onState("lost", new Date(this.lastSign));
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    this.timer = setTimeout(() => this.again(), wait);
  }

  again() {
    clearTimeout(this.timer);
    this.open();
  }
}
