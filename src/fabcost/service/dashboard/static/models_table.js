/** All models of the server, each with what its bandit earns. */

import { ask } from "./connection.js";
import { element, nothing, table } from "./elements.js";
import { headline } from "./headline.js";
import { count, percent } from "./numbers.js";
import { total } from "./timeline.js";

const MOST_TOLD = 25;
const PERIOD = 4000;
const COLUMNS = [
  { head: "Model" },
  { head: "What the bandit earns" },
  { head: "Decisions", number: true },
  { head: "CTR, 1 hour", number: true, wide: true },
  { head: "Items", number: true, wide: true },
  { head: "State", wide: true },
];

let next = 0;

/** Show the models every few seconds; beyond the first 25 without figures, which have to be counted. */
export async function showModels(holder, models) {
  if (performance.now() < next) return;
  next = performance.now() + PERIOD;
  const told = await Promise.all(models.map((model, place) => (place < MOST_TOLD ? figures(model) : null)));
  holder.replaceChildren(models.length > 0
    ? table("All models", COLUMNS, models.map((model, place) => row(model, told[place])))
    : nothing("No models yet."));
}

async function figures({ name, degraded }) {
  return degraded ? null : ask(`v1/models/${encodeURIComponent(name)}/stats?minutes=60`);
}

function row(model, stats) {
  const { name, settings, items, degraded } = model;
  const link = element("a", { href: `?model=${encodeURIComponent(name)}`, class: "name" }, name);
  if (!stats) return [link, degraded ?? "–", "–", "–", count(items), settings.mode];
  const { clicks, impressions } = total(stats.buckets);
  return [
    link,
    headline(stats, settings).text,
    count(stats.decisions),
    impressions > 0 ? percent(clicks / impressions) : "–",
    count(items),
    stats.alarms.length > 0 ? `${settings.mode}, alarms: ${count(stats.alarms.length)}` : settings.mode,
  ];
}
