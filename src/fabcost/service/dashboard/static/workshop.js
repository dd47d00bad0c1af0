/** Make a model, give it items, and try a decision: what a key with the role admin may do. */

import { ask, tell } from "./connection.js";
import { element, part, table } from "./elements.js";
import { itemCell, itemName } from "./item.js";
import { decimal, percent } from "./numbers.js";

const RANKING = [{ head: "Item" }, { head: "Score", number: true }, { head: "Propensity", number: true }];
const MOST_RANKED = 5;

/** Let the forms work; `current()` is the name of the model that is shown. */
export function openWorkshop(current) {
  submits("new-model", async () => {
    const name = part("new-name").value.trim();
    const settings = { holdback: part("new-holdback").value / 100, reward_wait_seconds: 60 * part("new-wait").value };
    await tell("POST", "v1/models", { name, settings });
    location.search = `?model=${encodeURIComponent(name)}`;
    return "Made.";
  });
  submits("new-items", async () => {
    const items = parsed("items-text");
    const { version } = await tell("PUT", `${path(current())}/items`, { items });
    return `Version ${version} of the catalogue.`;
  });
  submits("try", async () => {
    part("tried").replaceChildren(); // whose outcome is asked for is what comes
    const context = parsed("context-text");
    const answer = await tell("POST", `${path(current())}/decisions`, { context, top_k: MOST_RANKED, deferred: true });
    const { names } = await ask(`${path(current())}/explanations/${answer.decision_id}`);
    part("tried").replaceChildren(...shown(current(), answer, names ?? {}));
    return "";
  });
}

const path = (model) => `v1/models/${encodeURIComponent(model)}`;

function parsed(id) {
  try {
    return JSON.parse(part(id).value || "{}");
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}.`, { cause: error });
  }
}

function submits(id, act) {
  part(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    await said(part(`${id}-said`), act);
  });
}

async function said(place, act) {
  place.textContent = "…";
  try {
    place.textContent = await act();
    place.classList.remove("alarm");
  } catch (error) {
    place.textContent = error.message;
    place.classList.add("alarm");
  }
}

function shown(model, { decision_id: id, item, arm, ranking, scores, propensities }, names) {
  const rows = ranking.map((each, place) => [
    itemCell({ item: each, name: names[each] }),
    decimal(scores[place]),
    propensities ? percent(propensities[place], 1) : "–",
  ]);
  const place = element("span", { role: "status" });
  return [
    element("p", {}, "Show ", element("strong", {}, itemName({ item, name: names[item] })), `, by the ${arm}. It does not count unless you say what happened:`),
    element("div", { class: "row" },
      answering("It was clicked", 1, model, id, place), answering("It was not", 0, model, id, place), place),
    table("Ranking of the tried decision", RANKING, rows),
  ];
}

function answering(text, value, model, id, place) {
  const button = element("button", { type: "button", class: "quiet" }, text);
  button.addEventListener("click", () => said(place, async () => {
    await tell("POST", `${path(model)}/activations`, { decision_id: id });
    const { status } = await tell("POST", `${path(model)}/feedback`, { decision_id: id, value });
    return `Feedback ${status}.`;
  }));
  return button;
}
