/** Intervals of 95 %. */

export const Z = 1.959963984540054;

/** Wilson's interval of a proportion; null without impressions. */
export function wilson(clicks, impressions) {
  if (impressions === 0) return null;
  const share = clicks / impressions;
  const shrink = (Z * Z) / impressions;
  const centre = (share + shrink / 2) / (1 + shrink);
  const spread = Math.sqrt((share * (1 - share)) / impressions + shrink / (4 * impressions));
  const half = (Z * spread) / (1 + shrink);
  return { estimate: share, lower: Math.max(0, centre - half), upper: Math.min(1, centre + half) };
}

/** Wilson's interval while some outcomes are open, whatever they will be; what is certain so far. */
export function wilsonSoFar(clicks, impressions, open) {
  const least = wilson(clicks, impressions + open);
  return least && { ...least, upper: wilson(clicks + open, impressions + open).upper };
}
