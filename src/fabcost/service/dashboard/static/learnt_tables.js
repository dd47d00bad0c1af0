/** What was learnt: levels beside the mean of their feature, numbers, and who likes what. */

import { element, nothing, table, tableRow } from "./elements.js";
import { count, decimal, times, timesTick } from "./numbers.js";
import { Z } from "./statistics.js";
import { interval, stripAxis, stripScale } from "./strips.js";

const MOST = 7;
const HEADS = {
  contexts: "Who clicks more, and less",
  items: "What is clicked more, and less",
  pairs: "Who likes what",
};
const FORMS = [{ head: "95 % interval", plot: true }, { head: "Odds", number: true }];

/** Show those of the contrasts whose names contain `text`, best first; `note` says what they are. */
export function showLearnt(holder, note, { contexts, items, pairs, impressions, note: words }, text) {
  note.textContent = words ?? `From ${count(impressions)} impressions: by how much the odds of a click are multiplied, compared with `
    + "the average of a feature's levels, or for a larger number. Faint: not known yet.";
  const groups = Object.entries({ contexts, items, pairs })
    .map(([kind, all]) => ({ kind, found: all.filter((each) => matches(each, text)) }))
    .filter(({ found }) => found.length > 0);
  if (groups.length === 0) {
    const none = words ? "Its weights have no names." : "Nothing to compare yet.";
    holder.replaceChildren(nothing(text ? `Nothing has “${text}” in its name.` : none));
    return;
  }
  holder.replaceChildren(...groups.map(drawn));
}

/** The name of a contrast: “budget = low”, “mileage, 21,000 more”, “for budget = low: …”. */
export function contrastName({ feature, level, step, context, context_level: within }) {
  const what = level === "" ? `${feature}${step ? `, ${Number(step.toPrecision(2))} more` : ""}` : `${feature} = ${level}`;
  return context ? `${context} = ${within}: ${what}` : what;
}

const matches = (contrast, text) => contrastName(contrast).toLowerCase().includes(text.trim().toLowerCase());

const bounds = ({ mean, sd }) => ({ estimate: mean, lower: mean - Z * sd, upper: mean + Z * sd });

/** Whether it is clear of nothing; of pairs, whether it is clear that this level differs. */
const isClear = ({ mean, sd, context, apart, apart_sd: apartSd }) =>
  (context ? Math.abs(apart) > Z * apartSd : Math.abs(mean) > Z * sd);

function clearest(found) {
  const shown = found.slice(0, MOST);
  return shown.toSorted((a, b) => b.mean - a.mean);
}

// What is not clear may leave the picture: it must not flatten the rest.
function scaleOf(shown) {
  const clear = shown.filter(isClear).map(bounds).flatMap(({ lower, upper }) => [lower, upper]);
  return stripScale([-Math.LN2, Math.LN2, ...clear], 4, Math.LN2);
}

function drawn({ kind, found }) {
  const columns = [{ head: HEADS[kind] }, ...FORMS];
  const shown = clearest(found);
  const scale = scaleOf(shown);
  const made = table(HEADS[kind], columns, shown.map((each) => row(each, scale)));
  made.className = "learnt";
  shown.forEach((each, index) => made.tBodies[0].rows[index].classList.toggle("unclear", !isClear(each)));
  made.append(element("tfoot", {}, tableRow(columns, [more(found, shown), stripAxis(scale, timesTick), ""])));
  return made;
}

const more = (found, shown) => (found.length > shown.length ? `${count(found.length - shown.length)} less clear` : "");

function row(contrast, scale) {
  const name = contrastName(contrast);
  const range = bounds(contrast);
  const told = `${times(range.lower)} to ${times(range.upper)}; log-odds ${decimal(contrast.mean)} ± ${decimal(contrast.sd)}`;
  return [
    element("span", { class: "name", title: name }, name),
    interval(scale, range, contrast.mean < 0 ? "against" : "in-favour"),
    element("span", { title: told }, times(contrast.mean),
      element("span", { class: "hidden" }, `, ${told}${isClear(contrast) ? "" : ", not known yet"}`)),
  ];
}
