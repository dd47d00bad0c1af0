/** The latest decisions, newest first, each with a button that asks why. */

import { swatch } from "./arms.js";
import { element, nothing, table, tableRow } from "./elements.js";
import { itemCell, itemName } from "./item.js";
import { count, isDate, percent, timeOfDay } from "./numbers.js";
import { outcome } from "./outcome.js";

const COLUMNS = [
  { head: "Made" },
  { head: "Item" },
  { head: "Arm", wide: true },
  { head: "Candidates", number: true, wide: true },
  { head: "Propensity", number: true, wide: true },
  { head: "Outcome" },
  { head: "Why" },
];

/** A table that keeps its rows, so that a button keeps the focus while others arrive. */
export class DecisionsTable {
  /** `explain(decision)` is called by the buttons. */
  constructor(holder, heldNote, explain) {
    Object.assign(this, { holder, heldNote, explain, rows: new Map(), model: null });
  }

  /** Show these decisions of a model; a table that someone is using stays as it is. */
  show(model, decisions) {
    const held = model.name === this.model && this.inUse();
    this.heldNote.hidden = !held;
    if (held) return;
    if (model.name !== this.model) this.rows.clear();
    this.model = model.name;
    if (decisions.length === 0) this.holder.replaceChildren(nothing("No decisions yet."));
    else this.fill(decisions.map((decision) => this.row(model, decision)));
  }

  inUse() {
    const over = matchMedia("(hover: hover)").matches && this.holder.matches(":hover");
    const walking = this.holder.querySelector(":focus-visible") !== null;
    return over || walking || document.querySelector("dialog[open]") !== null;
  }

  row(model, decision) {
    const state = `${decision.resolved} ${decision.outcome} ${decision.value}`;
    const known = this.rows.get(decision.decision_id);
    if (known?.state === state) return known;
    return { id: decision.decision_id, state, node: tableRow(COLUMNS, this.cells(model, decision)) };
  }

  fill(rows) {
    this.rows = new Map(rows.map((row) => [row.id, row]));
    if (!this.holder.querySelector("tbody")) {
      this.holder.replaceChildren(table("Recent decisions", COLUMNS, []));
    }
    this.holder.querySelector("tbody").replaceChildren(...rows.map(({ node }) => node));
  }

  cells(model, decision) {
    const { made, arm, candidates, propensities } = decision;
    const datetime = isDate(made) ? new Date(1000 * made).toISOString() : "";
    return [
      element("time", { datetime }, timeOfDay(made)),
      itemCell(decision),
      element("span", {}, swatch(arm), ` ${arm}`),
      count(candidates.length),
      propensities ? percent(propensities[0], 1) : "–",
      outcome(decision, model.settings),
      this.button(decision),
    ];
  }

  button(decision) {
    const label = `Why ${itemName(decision)} at ${timeOfDay(decision.made)}?`;
    const button = element("button", { type: "button", class: "quiet", "aria-label": label }, "Why?");
    button.addEventListener("click", () => this.explain(decision));
    return button;
  }
}
