/** Predicted against observed click probabilities, both on the scale of log-odds. */

import { nothing, shape } from "./elements.js";
import { count, percent, percentRange, percentTick } from "./numbers.js";
import { drawPlot } from "./plot.js";
import { logOdds, shareTicks } from "./scales.js";
import { selectionText } from "./selection.js";
import { wilson } from "./statistics.js";

const TICK_PIXELS = { x: 48, y: 28 };
const MARGIN = 0.35;

/** Draw the calibration bins into `holder`, and say in `note` how much is selection. */
export function drawCalibration(holder, note, { calibration, foretold }) {
  note.textContent = `Points on the dashed line are predictions that came true. ${selectionText(foretold)}`;
  const bins = calibration.filter(({ impressions }) => impressions > 0).map(observed);
  if (bins.length === 0) {
    holder.replaceChildren(nothing("No impressions yet."));
    return;
  }
  drawPlot(holder, picture(bins));
}

function observed({ impressions, predicted, clicks }) {
  return { impressions, clicks, predicted: predicted / impressions, ...wilson(clicks, impressions) };
}

function picture(bins) {
  const domain = extent(bins);
  return {
    title: "Observed click-through rate against predicted click probability",
    height: 280,
    x: axis(domain, TICK_PIXELS.x, "Predicted"),
    y: axis(domain, TICK_PIXELS.y, "Observed"),
    marks: (place) => [diagonal(place), ...bins.flatMap((bin) => marks(place, bin))],
    readings: bins.map((bin) => ({ at: bin.predicted, lines: words(bin) })),
    data: numbers(bins),
  };
}

function axis(domain, pixels, label) {
  const [from, to] = domain;
  const ticks = (length) => shareTicks(from, to, ((to - from) * pixels) / length);
  return { domain, ticks, transform: logOdds, format: percentTick, label };
}

// The log-odds of none or all are infinite: such a bin lies at the edge.
function extent(bins) {
  const values = bins.flatMap(({ predicted, estimate, clicks, impressions }) =>
    (clicks > 0 && clicks < impressions ? [predicted, estimate] : [predicted]));
  const odds = values.map(logOdds);
  return [Math.min(...odds) - MARGIN, Math.max(...odds) + MARGIN];
}

function diagonal({ left, right, top, bottom }) {
  return shape("line", { class: "ideal", x1: left, y1: bottom, x2: right, y2: top });
}

function marks(place, { predicted, estimate, lower, upper, impressions }) {
  const x = place.x(predicted);
  const radius = Math.min(7, 2.5 + Math.log10(impressions));
  return [
    shape("line", { class: "whisker bandit", x1: x, x2: x, y1: place.y(lower), y2: place.y(upper) }),
    shape("circle", { class: "marker bandit", cx: x, cy: place.y(estimate), r: radius }),
  ];
}

const words = (bin) => [
  `predicted ${percent(bin.predicted)}`,
  `observed ${percent(bin.estimate)} (${percentRange(bin)})`,
  `${count(bin.clicks)} of ${count(bin.impressions)}`,
];

function numbers(bins) {
  return {
    columns: ["Predicted", "Observed", "95 % interval", "Impressions", "Clicks"].map((head) => ({ head })),
    rows: bins.map((bin) => [
      percent(bin.predicted), percent(bin.estimate), percentRange(bin),
      count(bin.impressions), count(bin.clicks),
    ]),
  };
}
