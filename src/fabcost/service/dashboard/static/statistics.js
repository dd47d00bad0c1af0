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

/**
 * What one rate is above another, as a share of the other; null unless the other has clicks.
 * The interval is made of Wilson's for both rates (Donner and Zou, 2012): it has a width, too, where
 * all or none were clicked.
 */
export function lift(ours, theirs) {
  const [above, below] = [ours, theirs].map(({ clicks, impressions }) => wilson(clicks, impressions));
  if (above === null || !(below?.estimate > 0)) return null;
  return {
    estimate: above.estimate / below.estimate - 1,
    lower: ratio(above, "lower", below, "upper") - 1,
    upper: 1 / ratio(below, "lower", above, "upper") - 1,
  };
}

// The smallest ratio of two rates; the form of the quotient has no difference of like numbers.
function ratio(above, low, below, high) {
  const product = above.estimate * below.estimate;
  const reach = ({ estimate }, limit) => limit * (2 * estimate - limit);
  const [least, most] = [reach(above, above[low]), reach(below, below[high])];
  return least > 0 ? least / (product + Math.sqrt(Math.max(0, product ** 2 - least * most))) : 0;
}

/** The weights that are most clearly not zero among those whose name contains the text. */
export function clearest(weights, text, most) {
  const wanted = text.trim().toLowerCase();
  return weights
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .sort((a, b) => Math.abs(b.mean) / b.sd - Math.abs(a.mean) / a.sd)
    .slice(0, most);
}
