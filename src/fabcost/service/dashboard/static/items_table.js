/** The items chosen most often. */

import { element, nothing, table } from "./elements.js";
import { isValued } from "./income.js";
import { itemCell } from "./item.js";
import { amount, count, decimal, percentRange } from "./numbers.js";
import { rateSoFar, rateText } from "./settled.js";
import { interval, stripScale } from "./strips.js";

const MOST = 8;
const COLUMNS = [
  { head: "Item" },
  { head: "Decisions", number: true },
  { head: "Clicks", number: true },
  { head: "Income", number: true, wide: true },
  { head: "Own effect", number: true, wide: true },
  { head: "95 % interval", plot: true },
  { head: "CTR", number: true },
];

/** Show the items of `stats`, with their own effects and a `note` on these where they have any. */
export function showItems(holder, note, stats) {
  const { top_items: tallies } = stats;
  note.hidden = !tallies.some(({ effect }) => effect);
  if (tallies.length === 0) {
    holder.replaceChildren(nothing("No decisions yet."));
    return;
  }
  const shown = tallies.slice(0, MOST);
  const rates = shown.map(rateSoFar);
  const scale = stripScale(rates.filter(Boolean).map(({ upper }) => upper));
  const rows = shown.map((tally, index) => row(tally, rates[index], scale));
  const absent = [note.hidden && "Own effect", !isValued(stats) && "Income"];
  const kept = COLUMNS.map(({ head }) => !absent.includes(head));
  const only = (cells) => cells.filter((_, place) => kept[place]);
  holder.replaceChildren(table("Items chosen most often", only(COLUMNS), rows.map(only)));
}

function row(tally, rate, scale) {
  const { decisions, clicks, income, effect } = tally;
  return [
    itemCell(tally),
    count(decisions),
    count(clicks),
    amount(income),
    effect ? `${decimal(effect.mean)} ± ${decimal(effect.sd)}` : "–",
    rate ? interval(scale, rate) : "",
    rate ? element("span", { title: percentRange(rate) }, rateText(rate)) : "–",
  ];
}
