/** How much of what is promised is selection: the best of many predictions is partly luck. */

import { count, percent } from "./numbers.js";
import { Z } from "./statistics.js";

const ENOUGH = 10;

/** In words, from the predictions of each arm beside what came of them. */
export function selectionText({ bandit, holdback }) {
  if (!bandit || bandit.impressions === 0) return "Predictions are compared with outcomes as these come in.";
  const ours = `For items that the bandit chose, ${share(bandit)}`;
  if (!holdback || holdback.rewards < ENOUGH || bandit.rewards < ENOUGH) {
    const many = holdback ? `${count(Math.round(holdback.rewards))} of ${ENOUGH} clicks there so far` : "there is none";
    return `${ours}. Only a holdback can show how much of that is due to selection: ${many}.`;
  }
  return `${ours}; for items shown at random, ${share(holdback)}. ${verdict(bandit, holdback)}`;
}

const share = ({ predicted, rewards, impressions }) =>
  `${percent(predicted / impressions)} was predicted and ${percent(rewards / impressions)} observed`;

const over = ({ predicted, rewards }) => predicted / rewards;

// Predictions are taken as given: the log of the ratio has about the variance 1/clicks + 1/clicks.
function verdict(bandit, holdback) {
  const ratio = Math.log(over(bandit) / over(holdback));
  const spread = Z * Math.sqrt(1 / bandit.rewards + 1 / holdback.rewards);
  const [low, high] = [ratio - spread, ratio + spread].map((end) => Math.expm1(end));
  const range = `${signed(low)} to ${signed(high)}`;
  if (low > 0) return `So choosing overstates by ${signed(Math.expm1(ratio))} (${range}): the best of many predictions is partly luck.`;
  if (high < 0) return `So predictions for chosen items are too low, by ${signed(Math.expm1(ratio))} (${range}).`;
  return `No effect of selection can be seen: choosing overstates by ${signed(Math.expm1(ratio))} (${range}).`;
}

const signed = (value) => `${value > 0 ? "+" : ""}${percent(value, 0)}`;
