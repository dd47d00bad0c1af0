/** What the bandit earns, in a sentence, from the interval that holds whenever one looks. */

import { count, percent, signedPercent } from "./numbers.js";
import { total } from "./timeline.js";

const UNLIKELY = 0.001;
const FAR = 50; // an end beyond 5,000 % says nothing

/** The {verdict, text, note} of `stats`; the verdict changes seldom, the numbers all the time. */
export function headline(stats, { holdback }) {
  if (stats.decisions === 0) return { verdict: "idle", text: "No decisions yet.", note: "" };
  if (stats.lift) return told(stats.lift);
  return { verdict: "waiting", ...soFar(stats, holdback) };
}

function soFar({ buckets, decisions, pending }, holdback) {
  const { clicks } = total(buckets);
  const text = `${count(decisions)} decisions and ${count(clicks)} clicks so far.`;
  const alone = holdback === 0 && buckets.every(({ arm }) => arm !== "holdback" && arm !== "baseline");
  if (alone) {
    return { text, note: "Nothing is held back, so there is nothing to compare the bandit with: a holdback of 0.1 would show one visitor in ten a random item." };
  }
  const waits = pending > 0 ? `${count(pending)} decisions wait for their outcome. ` : "";
  return { text, note: `${waits}As soon as both arms have outcomes, this says what the bandit earns.` };
}

function told(lift) {
  if (lift.share_p !== null && lift.share_p < UNLIKELY) return untrusted(lift);
  const note = evidence(lift);
  if (lift.value === null) return { verdict: "early", text: early(lift), note };
  const verdict = lift.verdict in WORDS ? lift.verdict : "unknown";
  return { verdict, text: WORDS[verdict](lift), note };
}

const untrusted = ({ over, share, planned_share: planned }) => ({
  verdict: "untrusted",
  text: "What the bandit earns cannot be trusted: outcomes get lost.",
  note: `${percent(share)} of the outcomes are of the ${over}, not ${percent(planned)} as planned.`,
});

const evidence = ({ over, clicks, impressions, clicks_beside: theirs, impressions_beside: beside, level }) =>
  `${count(clicks)} clicks of ${count(impressions)} by the bandit, ${count(theirs)} of ${count(beside)} by the ${over}. `
  + `The interval holds at all times together with probability ${percent(level, 0)}, so you may look as often as you like.`;

const between = ({ low, high }) => (high === null || high > FAR
  ? `at least ${signedPercent(low)}`
  : `between ${signedPercent(low)} and ${signedPercent(high)}`);

function early({ over, low, clicks, impressions, impressions_beside: beside }) {
  const known = low > 0 ? `The bandit earns at least ${signedPercent(low)} clicks over the ${over}` : "Too early to tell";
  return `${known}: ${count(clicks)} clicks of ${count(impressions)} so far, beside none of ${count(beside)} by the ${over}.`;
}

const better = (lift) =>
  `The bandit earns ${signedPercent(lift.value)} clicks over the ${lift.over}, ${between(lift)}: `
  + `about ${count(Math.round(lift.gained))} clicks gained.`;

const worse = (lift) =>
  `The bandit earns fewer clicks than the ${lift.over}: ${signedPercent(lift.value)}, ${between(lift)}, `
  + `about ${count(Math.round(-lift.gained))} clicks lost.`;

const unknown = (lift) =>
  `Not known yet whether the bandit earns more clicks than the ${lift.over}: `
  + `${signedPercent(lift.value)} so far, and anything ${lift.high === null || lift.high > FAR
    ? `from ${signedPercent(lift.low)} up` : between(lift)} would fit.`;

const WORDS = { better, worse, unknown };

/** Show it; a screen reader is told only when the verdict changes. */
export function showHeadline({ title, note, status }, stats, settings) {
  const { verdict, text, note: more } = headline(stats, settings);
  title.textContent = text;
  title.className = verdict;
  note.textContent = more;
  if (status.dataset.verdict === verdict) return;
  status.dataset.verdict = verdict;
  status.textContent = text;
}
