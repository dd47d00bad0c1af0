/** Which minutes a rate may speak of: those whose outcomes are known. */

import { ARMS } from "./arms.js";
import { percent } from "./numbers.js";
import { wilsonSoFar } from "./statistics.js";
import { seconds, total } from "./timeline.js";

const FEW = 0.02;

/** How many decisions of a sum still wait for their outcome. */
export const open = ({ decisions, impressions }) => Math.max(0, decisions - impressions);

const isOpen = (sum) => open(sum) > FEW * sum.decisions;

/** The rate of a sum as far as it is known; `atLeast` if many outcomes are open; null without any. */
export function rateSoFar(sum) {
  const { clicks, impressions } = sum;
  return impressions > 0 ? { ...wilsonSoFar(clicks, impressions, open(sum)), atLeast: isOpen(sum) } : null;
}

/** 4.31 % or ≥ 4.31 % */
export const rateText = ({ estimate, atLeast }) => `${atLeast ? "≥\u00a0" : ""}${percent(estimate)}`;

/**
 * The buckets of minutes whose outcomes are known, and the sums over those that are `left` out.
 *
 * A click is known at once, but its absence often only when the wait is over: what is known of a
 * minute before that would be mostly clicks. Of minutes with a few decisions each, those with clicks
 * would even be complete first. So a minute that may still wait counts if none before it waits, and
 * if such minutes had anything but clicks; parts of a minute count together.
 */
export function settled({ buckets, now }, wait) {
  const minutes = by(({ start }) => start, buckets.filter(({ arm }) => ARMS.includes(arm)));
  const old = minutes.filter((minute) => minute.start + seconds(minute) + wait <= now);
  const recent = minutes.slice(old.length);
  const waiting = by(minuteOf, recent).find(isOpen);
  const early = waiting ? recent.filter((each) => minuteOf(each) < minuteOf(waiting)) : recent;
  const known = [...old.filter((minute) => !isOpen(minute)), ...(onlyClicks(early) ? [] : early)];
  const starts = new Set(known.map(({ start }) => start));
  return {
    buckets: buckets.filter(({ start }) => starts.has(start)),
    left: total(minutes.filter(({ start }) => !starts.has(start))),
    isKnown: ({ start }) => starts.has(start),
  };
}

function onlyClicks(minutes) {
  const { clicks, impressions } = total(minutes);
  return clicks === impressions;
}

const minuteOf = ({ start }) => Math.floor(start / 60);

/** The sums of buckets with the same key, in order, each with the start of its first. */
function by(key, buckets) {
  const groups = new Map();
  for (const bucket of buckets) groups.set(key(bucket), [...(groups.get(key(bucket)) ?? []), bucket]);
  return [...groups.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, all]) => ({ start: all[0].start, seconds: seconds(all[0]), ...total(all) }));
}
