/** Weights of the posterior with their uncertainty. */

import { element, nothing, table, tableRow } from "./elements.js";
import { count, decimal, tick } from "./numbers.js";
import { clearest, Z } from "./statistics.js";
import { interval, stripAxis, stripScale } from "./strips.js";

const MOST = 20;
const COLUMNS = [
  { head: "Weight" },
  { head: "95 % interval", plot: true },
  { head: "Mean ± sd", number: true },
];

/** Show those of the weights whose name contains `text` and that are most clearly not zero. */
export function showWeights(holder, note, { weights, note: words }, text) {
  if (words) {
    note.textContent = words;
    holder.replaceChildren(nothing("Its weights have no names."));
    return;
  }
  const shown = clearest(weights, text, MOST);
  const many = `${count(shown.length)} of ${count(weights.length)}`;
  note.textContent = `${many}, those clearest of zero first, on the scale of log-odds.`;
  if (shown.length === 0) {
    holder.replaceChildren(nothing(text ? `No weight has “${text}” in its name.` : "No weights yet."));
    return;
  }
  const intervals = shown.map(({ mean, sd }) => (
    { estimate: mean, lower: mean - Z * sd, upper: mean + Z * sd }));
  const scale = stripScale(intervals.flatMap(({ lower, upper }) => [lower, upper]));
  const rows = shown.map((weight, index) => row(weight, interval(scale, intervals[index])));
  const drawn = table("Posterior weights", COLUMNS, rows);
  drawn.append(element("tfoot", {}, tableRow(COLUMNS, ["", stripAxis(scale, tick), ""])));
  holder.replaceChildren(drawn);
}

function row({ name, mean, sd }, picture) {
  return [
    element("span", { class: "name", title: name }, name),
    picture,
    `${decimal(mean)} ± ${decimal(sd)}`,
  ];
}
