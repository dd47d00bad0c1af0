/** What became of a decision, in a word with a sign. */

import { element } from "./elements.js";

/** The word: a reward above the model's threshold is a click, or each is told where they are fractions. */
export function outcome({ resolved, outcome: how, value }, { click_threshold: threshold, values }) {
  if (resolved === null) return word("waiting", "… waiting");
  if (how === "discarded") return word("discarded", "– discarded");
  if (value !== null && values === "fraction") return word("click", `✓ ${Number(value.toPrecision(6))}`);
  if (value !== null && value > threshold) return word("click", "✓ click");
  return word("no-click", how === "expired" ? "✗ no click in time" : "✗ no click");
}

const word = (look, text) => element("span", { class: `outcome ${look}` }, text);
