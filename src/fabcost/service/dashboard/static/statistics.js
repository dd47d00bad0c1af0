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

/**
 * What one rate is above another, as a share of the other; null unless both have clicks.
 * The interval is that of the logarithm of the ratio (Katz et al., 1978).
 */
export function lift(ours, theirs) {
  if (ours.clicks === 0 || theirs.clicks === 0) return null;
  const ratio = (ours.clicks / ours.impressions) / (theirs.clicks / theirs.impressions);
  const spread = Z * Math.sqrt(
    1 / ours.clicks - 1 / ours.impressions + 1 / theirs.clicks - 1 / theirs.impressions);
  return {
    estimate: ratio - 1,
    lower: ratio * Math.exp(-spread) - 1,
    upper: ratio * Math.exp(spread) - 1,
  };
}

/** The weights that are most clearly not zero among those whose name contains the text. */
export function clearest(weights, text, most) {
  const wanted = text.trim().toLowerCase();
  return weights
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .sort((a, b) => Math.abs(b.mean) / b.sd - Math.abs(a.mean) / a.sd)
    .slice(0, most);
}
