/** How the model is: the chips of the header, and the facts about learner and log. */

import { element, facts } from "./elements.js";
import { count, duration } from "./numbers.js";

/** The state of the model in few words; what needs attention is marked by more than colour. */
export function showState(list, stats) {
  list.replaceChildren(...[
    chip(`Mode: ${stats.mode}`, stats.mode === "online" ? "plain" : "warning"),
    stats.store_away
      ? chip(`Database away, decisions in memory: ${count(stats.unwritten)}`, "alarm")
      : chip("Database: ok", "good"),
    learnerChip(stats),
    ...(stats.alarms.length > 0 ? [chip(`Data: ${alarms(stats.alarms.length)}`, "alarm")] : []),
  ]);
}

const alarms = (many) => (many === 1 ? "1 alarm" : `${count(many)} alarms`);

function learnerChip({ learner_lag: lag, refreshing, learning_failed: failed }) {
  if (failed) return chip("Learner: stopped, restart the server", "alarm");
  if (refreshing) return chip("Learner: refreshing by EP", "plain");
  return lag > 0 ? chip(`Learner: ${count(lag)} behind`, "warning") : chip("Learner: up to date", "good");
}

const chip = (text, look) => element("li", { class: `chip ${look}` }, text);

/** The facts about learner and log. */
export function showLearner(list, stats) {
  const { feedback, now } = stats;
  const pairs = [
    ["Posterior", `version ${stats.posterior_version}`],
    ["Published", `${duration(now - stats.posterior_published)} ago`],
    ["Weights", count(stats.weights)],
    ["Impressions learnt", count(stats.impressions)],
    ["Learner lag", `${count(stats.learner_lag)} impressions`],
    ["EP refreshes", refreshes(stats)],
    ["Waiting for feedback", `${count(stats.pending)} decisions`],
    ...Object.entries(feedback).map(([status, many]) => [`Feedback ${status}`, count(many)]),
  ];
  list.replaceChildren(...facts(pairs));
}

function refreshes({ refreshes: many, last_refresh_seconds: last }) {
  return last > 0 ? `${count(many)}, the last took ${duration(last)}` : count(many);
}
