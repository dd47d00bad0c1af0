/** What the server knows of a model, asked for again when it may have changed. */

import { ask } from "./connection.js";

const RECENT = 20;
const LONG_MINUTES = 360;
const PATIENCE = 3.5;

/** Milliseconds for which counts are good: those of long periods are large and change slowly. */
const patience = (minutes) => (minutes > LONG_MINUTES ? PATIENCE * minutes : 0);

/** Where values are fractions of a click, their sum in place of a count. */
function withFractions(stats) {
  const counts = ["buckets", "calibration", "top_items"];
  const told = (row) => ({ ...row, clicks: Math.round(100 * row.rewards) / 100 });
  return { ...stats, ...Object.fromEntries(counts.map((name) => [name, stats[name].map(told)])) };
}

export class Source {
  counts = null;
  belief = null;

  /** Counts of the last minutes, what was learnt, and the latest decisions of a model. */
  async read({ name, settings, posterior_version: version }, minutes) {
    const path = `v1/models/${encodeURIComponent(name)}`;
    const [stats, contrasts, { decisions }] = await Promise.all([
      this.stats(`${path}/stats?minutes=${minutes}`, minutes),
      this.contrasts(`${path}/contrasts`, version),
      ask(`${path}/decisions?limit=${RECENT}`),
    ]);
    return { stats: settings.values === "fraction" ? withFractions(stats) : stats, contrasts, decisions };
  }

  async stats(question, minutes) {
    if (this.counts?.question !== question || performance.now() >= this.counts.until) {
      const answer = await ask(question);
      this.counts = { question, answer, until: performance.now() + patience(minutes) };
    }
    return this.counts.answer;
  }

  async contrasts(question, version) {
    if (this.belief?.question !== question || this.belief.version !== version) {
      this.belief = { question, version, answer: await ask(question) };
    }
    return this.belief.answer;
  }
}
