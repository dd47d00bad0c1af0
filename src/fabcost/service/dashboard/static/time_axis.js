/** The axis of time that pictures share. */

import { timeTicks } from "./scales.js";

const LABEL_WIDTH = { short: 76, long: 110 };

/** The axis of a period {from, to, name}. */
export function timeAxis({ from, to, name }) {
  const label = to - from > 86_400 ? LABEL_WIDTH.long : LABEL_WIDTH.short;
  return {
    domain: [from, to],
    ticks: (length) => timeTicks(from, to, Math.max(2, Math.floor(length / label))),
    format: name,
    label: "Your local time",
  };
}
