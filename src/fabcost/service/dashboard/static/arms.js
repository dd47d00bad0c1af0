/** The arms of a decision: each has a colour, a dash and a marker of its own. */

import { shape } from "./elements.js";

export const ARMS = ["bandit", "holdback", "baseline"];

/** The arms that decided something, the bandit always first. */
export function presentArms(buckets) {
  const seen = new Set(buckets.map((bucket) => bucket.arm));
  return ARMS.filter((arm) => arm === "bandit" || seen.has(arm));
}

/** The marker of an arm: a disc, a square or a triangle. */
export function marker(arm, x, y) {
  const look = { class: `marker ${arm}` };
  if (arm === "holdback") {
    return shape("rect", { ...look, x: x - 3.6, y: y - 3.6, width: 7.2, height: 7.2 });
  }
  if (arm === "baseline") {
    return shape("path", { ...look, d: `M${x} ${y - 4.6} l4.4 7.6 h-8.8 z` });
  }
  return shape("circle", { ...look, cx: x, cy: y, r: 4 });
}

/** The marker of an arm on a piece of its line, for legends. */
export function swatch(arm) {
  return shape("svg", { class: "swatch", width: 26, height: 12, "aria-hidden": "true" },
    shape("line", { class: `line ${arm}`, x1: 1, x2: 25, y1: 6, y2: 6 }),
    marker(arm, 13, 6));
}
