/** Counts by the minute, or finer while a model is young, summed into as few points as a picture can tell apart. */

import { moment } from "./numbers.js";

const MINUTE = 60;
const WIDTHS = [5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((each) => each * MINUTE)];
const MOST_POINTS = 40;
const FEW_POINTS = 12;
const ENOUGH_DECISIONS = 50;

const SUMS = ["decisions", "impressions", "clicks", "log_loss", "entropy", "income"];
const NONE = Object.freeze(Object.fromEntries(SUMS.map((name) => [name, 0])));

function add(total, bucket) {
  return Object.fromEntries(SUMS.map((name) => [name, total[name] + bucket[name]]));
}

/** The sums over all minutes of an arm, or of all arms. */
export function total(buckets, arm = null) {
  return buckets.filter((bucket) => arm === null || bucket.arm === arm).reduce(add, NONE);
}

/** Seconds that a bucket counts. */
export const seconds = (bucket) => bucket.seconds ?? MINUTE;

/** From the first bucket that counted something, at least a minute back, until now. */
export function period(buckets, now) {
  const first = buckets.reduce((least, { start }) => Math.min(least, start), now);
  const from = Math.min(first, now - MINUTE);
  return { from, to: now, name: (time) => moment(time, now - from) };
}

/**
 * Seconds for one point of an arm: never more than 40 points in the period, and wider as long as
 * a point would have fewer than 50 decisions and there would be more than twelve points.
 */
export function pointWidth(buckets, arm, { from, to }) {
  const own = buckets.filter((bucket) => bucket.arm === arm);
  const busy = own.reduce((sum, bucket) => sum + seconds(bucket), 0);
  const least = Math.max(0, ...own.map(seconds));
  const perSecond = total(own).decisions / Math.max(busy, 1);
  const fits = (width) => width >= least && (to - from) / width <= MOST_POINTS;
  const enough = (width) => perSecond * width >= ENOUGH_DECISIONS || busy / width <= FEW_POINTS;
  return WIDTHS.find((width) => fits(width) && enough(width)) ?? WIDTHS.at(-1);
}

/** The sums of an arm for each point, in order; points without anything are left out. */
export function points(buckets, arm, width) {
  const sums = new Map();
  for (const bucket of buckets.filter((each) => each.arm === arm)) {
    const start = Math.floor(bucket.start / width) * width;
    sums.set(start, add(sums.get(start) ?? NONE, bucket));
  }
  return [...sums.entries()]
    .sort(([a], [b]) => a - b)
    .map(([start, sum]) => ({ start, middle: start + width / 2, ...sum }));
}

/** Runs of points that follow each other without a gap. */
export function runs(line, width) {
  const all = [];
  for (const point of line) {
    const last = all.at(-1);
    if (last && point.start - last.at(-1).start <= width) last.push(point);
    else all.push([point]);
  }
  return all;
}
