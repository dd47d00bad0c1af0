/** The items chosen most often. */

import { element, nothing, table } from "./elements.js";
import { count, percentRange } from "./numbers.js";
import { rateSoFar, rateText } from "./settled.js";
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
  const rates = shown.map(rateSoFar);
  const scale = stripScale(rates.filter(Boolean).map(({ upper }) => upper));
  const rows = shown.map((tally, index) => row(tally, rates[index], scale));
  holder.replaceChildren(table("Items chosen most often", COLUMNS, rows));
}

function row({ item, decisions, impressions, clicks }, rate, scale) {
  return [
    element("span", { class: "name", title: item }, item),
    count(decisions),
    count(impressions),
    count(clicks),
    rate ? interval(scale, rate) : "",
    rate ? element("span", { title: percentRange(rate) }, rateText(rate)) : "–",
  ];
}
