/** What the arms earn where clicks have values or showing costs. */

import { swatch } from "./arms.js";
import { amount } from "./numbers.js";

/** Whether income is anything but what was rewarded. */
export const isValued = ({ buckets, top_items: tallies }) =>
  [...buckets, ...tallies].some(({ income, rewards }) => income !== rewards);

/** Label, value and note for the income of an arm: `soFar` in all, and for each impression that is known. */
export function earned({ arm, income, impressions, soFar }) {
  const label = [swatch(arm), ` Income ${arm}`];
  if (soFar.impressions === 0) return [label, "–", soFar.decisions > 0 ? "Outcomes are awaited" : "No decisions"];
  const each = impressions > 0 ? `${amount(income / impressions)} an impression` : "Outcomes are awaited";
  return [label, amount(soFar.income), each];
}
