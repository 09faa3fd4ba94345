// The stream of changes, kept alive: reconnects after an error, and when signs of life stop coming.

const SILENCE_MS = 16_000; // the server gives a sign of life every 5 s
const RETRY_MS = [1_000, 2_000, 5_000, 10_000];

export class Live {
  /** `onChange({changes, committed_us, as_of_us, totals, sentence, level})`, `onState("live" | "lost")`, `onCaption(text)`. */
  constructor(onChange, onState, onCaption) {
    Object.assign(this, { onChange, onState, onCaption });
    this.failures = 0;
    this.skew = null;
    this.open();
    setInterval(() => this.check(), 1_000);
  }

  open() {
    this.lastSign = performance.now();
    this.source = new EventSource("/api/events");
    this.source.addEventListener("clock", (event) => this.clock(JSON.parse(event.data).now_us));
    this.source.addEventListener("change", (event) => this.onChange(JSON.parse(event.data)));
    this.source.addEventListener("caption", (event) => this.onCaption(JSON.parse(event.data).text));
    this.source.addEventListener("error", () => this.lost());
  }

  clock(nowUs) {
    this.skew = nowUs - performance.now() * 1_000;
    this.lastSign = performance.now();
    this.failures = 0;
    this.onState("live");
  }

  /** How long ago by the server's clock; 0 until that is known. */
  ageOf(us) {
    return this.skew === null ? 0 : this.skew + performance.now() * 1_000 - us;
  }

  check() {
    if (this.source && performance.now() - this.lastSign > SILENCE_MS) this.lost();
  }

  lost() {
    if (!this.source) return;
    this.source.close();
    this.source = null;
    this.onState("lost");
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    setTimeout(() => this.open(), wait);
  }
}
