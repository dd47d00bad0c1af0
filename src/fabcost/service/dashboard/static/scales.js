/** From values to places, and round numbers for axes. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const TIME_STEPS = [
  5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY,
];
const SHARES = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9,
  0.95, 0.98, 0.99, 0.995, 0.999,
];

/** A linear map from a domain to a range that keeps what is outside at the edge. */
export function linear([from, to], [start, end]) {
  const slope = to === from ? 0 : (end - start) / (to - from);
  const low = Math.min(from, to);
  const high = Math.max(from, to);
  return (value) => start + slope * (Math.min(Math.max(value, low), high) - from);
}

/** Round numbers that cover a domain, about `many` of them. */
export function roundTicks(from, to, many) {
  const step = roundStep((to - from) / many);
  const first = Math.floor(from / step + 1e-9);
  const last = Math.ceil(to / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

function roundStep(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted || 1));
  return power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= wanted * (1 - 1e-9));
}

/** Full minutes, hours or days of the reader inside a period, at most `many`. */
export function timeTicks(from, to, many) {
  const step = TIME_STEPS.find((each) => (to - from) / each <= many) ?? TIME_STEPS.at(-1);
  const offset = new Date(1000 * to).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((from - offset) / step) * step + offset;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) },
    (_, index) => first + index * step);
}

/** The log-odds of a probability; 0 and 1 are kept at the far ends. */
export function logOdds(share) {
  const inside = Math.min(Math.max(share, 1e-6), 1 - 1e-6);
  return Math.log(inside / (1 - inside));
}

/** Round probabilities between two log-odds, at least `gap` apart. */
export function shareTicks(from, to, gap) {
  const kept = [];
  for (const share of SHARES) {
    const at = logOdds(share);
    const free = kept.length === 0 || at - logOdds(kept.at(-1)) >= gap;
    if (at >= from && at <= to && free) kept.push(share);
  }
  return kept;
}
