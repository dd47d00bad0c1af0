/** How undecided the bandit is: the entropy of its propensities, averaged over decisions. */

import { nothing, shape } from "./elements.js";
import { marker } from "./arms.js";
import { count, decimal, tick } from "./numbers.js";
import { drawPlot } from "./plot.js";
import { roundTicks } from "./scales.js";
import { timeAxis } from "./time_axis.js";
import { period, points, pointWidth, runs } from "./timeline.js";

const ARM = "bandit";

/** Draw the entropy into `holder`, and its latest value in words into `note`. */
export function drawEntropy(holder, note, { buckets, now }, propensities) {
  const span = period(buckets, now);
  const width = pointWidth(buckets, ARM, span);
  const line = points(buckets, ARM, width)
    .filter(({ decisions }) => decisions > 0)
    .map((point) => ({ ...point, mean: point.entropy / point.decisions }));
  if (propensities === "none" || line.length === 0) {
    note.textContent = "How undecided the bandit is between its candidates.";
    holder.replaceChildren(nothing(propensities === "none"
      ? "This model records no propensities."
      : "No decisions in this period."));
    return;
  }
  const { mean } = line.at(-1);
  const equal = decimal(Math.exp(mean), 1);
  note.textContent = `${decimal(mean)} nats now: as undecided as between ${equal} equal items.`;
  drawPlot(holder, picture(span, width, line));
}

function picture(span, width, line) {
  const top = roundTicks(0, Math.max(0.1, ...line.map(({ mean }) => mean)), 3);
  return {
    title: "Mean entropy of the bandit's propensities over time",
    height: 180,
    x: timeAxis(span),
    y: { domain: [0, top.at(-1)], ticks: () => top, format: tick, label: "Nats" },
    marks: (place) => marks(place, runs(line, width)),
    readings: line.map(({ middle, start, mean }) => (
      { at: middle, lines: [span.name(start), `${decimal(mean)} nats`] })),
    data: {
      columns: ["From", "Decisions", "Mean entropy in nats"].map((head) => ({ head })),
      rows: line.map(({ start, decisions, mean }) => [span.name(start), count(decisions), decimal(mean)]),
    },
  };
}

function marks(place, all) {
  const at = ({ middle, mean }) => `${place.x(middle)} ${place.y(mean)}`;
  return all.flatMap((run) => [
    shape("path", { class: `line ${ARM}`, d: `M${run.map(at).join("L")}` }),
    ...run.map((point) => marker(ARM, place.x(point.middle), place.y(point.mean))),
  ]);
}
