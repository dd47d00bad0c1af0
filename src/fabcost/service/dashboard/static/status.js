/** Whether the page is up to date: live, connection lost, or waiting for a key. */

import { hasKey, KeyNeededError, RefusedError } from "./connection.js";
import { element, part } from "./elements.js";
import { duration } from "./numbers.js";

const WORDS = {
  live: "Live",
  key: "Key needed",
  refused: "Out of date",
  lost: "Connection lost",
};

/** Tell how the last look went; `again` tries at once. */
export function showStatus(error, delay, again) {
  const state = stateAfter(error);
  const stale = state === "lost" || state === "refused";
  say(state);
  part("lost").hidden = !stale;
  part("state").hidden = stale;
  part("key-form").hidden = state !== "key";
  part("forget").hidden = !hasKey();
  document.body.classList.toggle("stale", stale);
  if (stale) part("lost").replaceChildren(...complaint(error, delay, again));
  if (state === "key") lock(error.message);
}

function stateAfter(error) {
  if (error === null) return "live";
  if (error instanceof KeyNeededError) return "key";
  return error instanceof RefusedError ? "refused" : "lost";
}

function say(state) {
  const chip = part("connection");
  if (chip.textContent !== WORDS[state]) chip.textContent = WORDS[state];
  chip.className = `chip ${state}`;
}

function complaint(error, delay, again) {
  const button = element("button", { type: "button" }, "Try now");
  button.addEventListener("click", again);
  return [`${error.message} What you see is old. Next try in ${duration(delay / 1000)}. `, button];
}

function lock(message) {
  part("key").focus();
  for (const shown of ["figures", "empty", "all", "create"]) part(shown).hidden = true;
  part("key-message").textContent = message;
}
