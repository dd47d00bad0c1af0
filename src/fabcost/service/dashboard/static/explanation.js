/** Why an item was chosen: a dialog with what each column adds to its log-odds. */

import { element, facts, nothing, part, table, tableRow } from "./elements.js";
import { itemCell, itemName } from "./item.js";
import { amount, decimal, percent, tick, timeOfDay } from "./numbers.js";
import { outcome } from "./outcome.js";
import { bar, stripAxis, stripScale } from "./strips.js";

const MOST_COLUMNS = 15;
const MOST_RANKED = 5;
const COLUMNS = [
  { head: "Column" },
  { head: "Adds to the log-odds", plot: true },
  { head: "Value × weight", number: true, wide: true },
  { head: "Sum", number: true },
];
const RANKING = [{ head: "Item" }, { head: "Score", number: true }, { head: "Propensity", number: true }];

/** Open the dialog and ask for the explanation of a decision; Escape closes it. */
export async function explain(ask, model, decision) {
  part("why-title").textContent = `Why ${itemName(decision)}?`;
  part("why-body").replaceChildren(nothing("Asking…"));
  part("why").showModal();
  try {
    const id = encodeURIComponent(decision.decision_id);
    const answer = await ask(`v1/models/${encodeURIComponent(model.name)}/explanations/${id}`);
    part("why-body").replaceChildren(...explanation(answer, model.settings));
  } catch (error) {
    part("why-body").replaceChildren(nothing(error.message));
  }
}

function explanation(answer, settings) {
  const { decision, click_probability: probability, contributions, runner_up: other } = answer;
  return [
    element("p", { class: "summary" }, answer.summary),
    element("dl", { class: "facts" }, ...facts([
      ["Made", timeOfDay(decision.made)],
      ["Arm", decision.arm],
      ["Outcome", outcome(decision, settings)],
      ["Click probability now", percent(probability)],
      ["Candidates", String(decision.candidates.length)],
      ["Decision", element("code", {}, decision.decision_id)],
    ])),
    ...context(decision),
    ...(other ? comparison(other) : []),
    ...reasons("What speaks for and against it", "of the chosen item", contributions),
    ...ranking(decision, answer.names),
  ];
}

function context({ context: values }) {
  const pairs = Object.entries(values).map(([name, value]) => [name, String(value)]);
  if (pairs.length === 0) return [];
  return [element("h3", {}, "Context"), element("dl", { class: "facts" }, ...facts(pairs))];
}

function comparison(other) {
  const better = `The chosen one is the better of the two with probability ${percent(other.chosen_is_better)}`;
  const title = `Compared with the runner-up, ${itemName(other)}`;
  return reasons(title, "in which the two differ", other.differences, `${better}. `);
}

function reasons(title, which, contributions, before = "") {
  const size = ({ contribution }) => Math.abs(contribution);
  const shown = contributions.toSorted((a, b) => size(b) - size(a)).slice(0, MOST_COLUMNS);
  const scale = stripScale(shown.map(({ contribution }) => contribution));
  const drawn = table(title, COLUMNS, shown.map((each) => reason(each, scale)));
  const sum = contributions.reduce((all, { contribution }) => all + contribution, 0);
  const total = element("strong", {}, decimal(sum));
  drawn.append(element("tfoot", {}, tableRow(COLUMNS, ["All columns", stripAxis(scale, tick), "", total])));
  return [
    element("h3", {}, title),
    element("p", { class: "note" }, before + note(shown.length, contributions.length, which)),
    drawn,
  ];
}

function note(shown, all, which) {
  const many = shown < all ? `The ${shown} largest of ${all} columns` : "All columns";
  return `${many} ${which}, with the current weights.`;
}

function reason({ name, value, weight, sd, contribution }, scale) {
  return [
    element("span", { class: "name", title: name }, name),
    bar(scale, contribution),
    `${amount(value)} × (${decimal(weight)} ± ${decimal(sd)})`,
    decimal(contribution),
  ];
}

function ranking({ ranking: items, scores, propensities }, names = {}) {
  const rows = items.slice(0, MOST_RANKED).map((item, index) => [
    itemCell({ item, name: names[item] }),
    decimal(scores[index]),
    propensities ? percent(propensities[index], 1) : "–",
  ]);
  return [element("h3", {}, "Ranking at the time"), table("Ranking", RANKING, rows)];
}
