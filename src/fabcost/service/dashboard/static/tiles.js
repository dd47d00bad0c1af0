/** The figures at the top: what was decided, shown, clicked and earned, and what the bandit gains. */

import { presentArms, swatch } from "./arms.js";
import { element } from "./elements.js";
import { earned, isValued } from "./income.js";
import { amount, count, percentRange } from "./numbers.js";
import { rateSoFar, rateText } from "./settled.js";
import { interval, stripScale } from "./strips.js";
import { total } from "./timeline.js";

/**
 * Show the figures of `stats` for its period; rates are those of the minutes that are `known`, and
 * until there is one, what they will be at least.
 */
export function showTiles(holder, stats, known) {
  const all = total(stats.buckets);
  const [ours, theirs] = compared(stats.buckets).map((arm) => (
    { arm, ...total(known.buckets, arm), soFar: total(stats.buckets, arm) }));
  const valued = isValued(stats);
  holder.classList.toggle("valued", valued);
  holder.replaceChildren(
    tile(["Decisions"], count(all.decisions), `${count(stats.decisions)} in all`),
    tile(["Impressions"], count(all.impressions), `${count(stats.impressions)} learnt in all`),
    tile(["Clicks"], count(all.clicks), `${count(stats.pending)} decisions still open`),
    ...(valued ? [tile(...earned(ours))] : []),
    ...rates([ours, theirs]),
    gainedTile(stats.lift, theirs.arm),
    ...(valued ? [tile(...earned(theirs))] : []));
}

function compared(buckets) {
  const [, second = "holdback"] = presentArms(buckets);
  return ["bandit", second];
}

function tile(label, value, note, picture = []) {
  return element("div", { class: "card tile" },
    element("dt", {}, ...label),
    element("dd", { class: "value" }, value),
    ...picture.map((each) => element("dd", { class: "picture" }, each)),
    element("dd", { class: "note" }, note));
}

function rates(sums) {
  const found = sums.map((sum) => rateSoFar(sum) ?? leastRate(sum.soFar));
  const scale = stripScale(found.map((rate) => rate?.upper ?? 0), 2);
  return sums.map((sum, index) => rateTile(sum, found[index], scale));
}

// Clicks without anything that is open say nothing: their absence may just not be known yet.
function leastRate(sum) {
  const rate = rateSoFar(sum);
  return rate?.atLeast ? rate : null;
}

function rateTile({ arm, soFar }, rate, scale) {
  const label = [swatch(arm), ` CTR ${arm}`];
  if (rate === null) return tile(label, "–", soFar.decisions > 0 ? "Outcomes are awaited" : "No decisions");
  return tile(label, rateText(rate), `95 %: ${percentRange(rate)}`, [interval(scale, rate, arm)]);
}

// Since the last change of settings: the interval holds at every moment, one may watch it and stop.
function gainedTile(gain, arm) {
  const label = [`Gained over ${gain?.over ?? arm}`];
  if (!gain) return tile(label, "–", `Needs outcomes of ${arm}`);
  const { gained, gained_low: low, gained_high: high } = gain;
  const whole = (value) => (value === null ? "any" : amount(Math.round(value)));
  return tile(label, gained === null ? "–" : whole(gained), `95 %: ${whole(low)} to ${whole(high)}`);
}
