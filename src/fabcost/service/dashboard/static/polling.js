/** Looking again and again: each second while the page is visible, more slowly while it fails. */

import { KeyNeededError, NoAnswerError } from "./connection.js";

const PERIOD = 1000;
const SLOWEST = 30_000;

export class Polling {
  /**
   * `look()` asks and shows; `report(error, delay)` tells how it went, with null for success and
   * the milliseconds until the next try.
   */
  constructor(look, report) {
    Object.assign(this, { look, report, failures: 0, wanted: false, wake: () => {} });
    document.addEventListener("visibilitychange", () => this.again());
    window.addEventListener("online", () => this.again());
  }

  /** Look now instead of waiting. */
  again() {
    if (document.hidden) return;
    this.wanted = true;
    this.wake();
  }

  /** Go on for as long as the page lives. */
  async run() {
    for (;;) {
      this.wanted = false;
      const delay = document.hidden ? Infinity : await this.once();
      if (!this.wanted) await this.rest(delay);
    }
  }

  async once() {
    const started = performance.now();
    try {
      await this.look();
      this.failures = 0;
      this.report(null, PERIOD);
      return Math.max(PERIOD / 4, PERIOD - (performance.now() - started));
    } catch (error) {
      return this.fail(error);
    }
  }

  fail(error) {
    if (!(error instanceof NoAnswerError)) reportError(error);
    const delay = error instanceof KeyNeededError ? Infinity : Math.min(SLOWEST, PERIOD * 2 ** this.failures);
    this.failures += 1;
    this.report(error, delay);
    return delay;
  }

  rest(delay) {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (delay !== Infinity) setTimeout(resolve, delay);
    });
  }
}
