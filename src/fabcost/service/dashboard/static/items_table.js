/** The items chosen most often. */

import { element, nothing, table } from "./elements.js";
import { count, percent, percentRange } from "./numbers.js";
import { isOpen, open } from "./settled.js";
import { wilsonSoFar } from "./statistics.js";
import { interval, stripScale } from "./strips.js";

const MOST = 8;
const COLUMNS = [
  { head: "Item" },
  { head: "Decisions", number: true },
  { head: "Impressions", number: true, wide: true },
  { head: "Clicks", number: true },
  { head: "95 % interval", plot: true },
  { head: "CTR", number: true },
];

/** Show the items of `stats`. */
export function showItems(holder, { top_items: tallies }) {
  if (tallies.length === 0) {
    holder.replaceChildren(nothing("No decisions yet."));
    return;
  }
  const shown = tallies.slice(0, MOST);
  const rates = shown.map(rateOf);
  const scale = stripScale(rates.filter(Boolean).map(({ upper }) => upper));
  const rows = shown.map((tally, index) => row(tally, rates[index], scale));
  holder.replaceChildren(table("Items chosen most often", COLUMNS, rows));
}

function rateOf(tally) {
  const { clicks, impressions } = tally;
  return impressions > 0 ? wilsonSoFar(clicks, impressions, open(tally)) : null;
}

function row(tally, rate, scale) {
  const { item, decisions, impressions, clicks } = tally;
  const atLeast = isOpen(tally) ? "≥\u00a0" : "";
  return [
    element("span", { class: "name", title: item }, item),
    count(decisions),
    count(impressions),
    count(clicks),
    rate ? interval(scale, rate) : "",
    rate ? element("span", { title: percentRange(rate) }, `${atLeast}${percent(rate.estimate)}`) : "–",
  ];
}
