/** The click-through rate of each arm over time, with bands of 95 %. */

import { marker, presentArms, swatch } from "./arms.js";
import { element, nothing, shape } from "./elements.js";
import { count, duration, percent, percentRange, percentTick } from "./numbers.js";
import { drawPlot } from "./plot.js";
import { roundTicks } from "./scales.js";
import { open } from "./settled.js";
import { wilson } from "./statistics.js";
import { timeAxis } from "./time_axis.js";
import { period, points, pointWidth, runs } from "./timeline.js";

/** Draw the rates of the minutes that are `known`, and say in `note` what a point is. */
export function drawCtr(holder, note, { buckets, now }, known) {
  const span = period(buckets, now);
  const series = presentArms(buckets)
    .map((arm) => rates(known.buckets, arm, span))
    .filter(({ line }) => line.length > 0);
  note.replaceChildren(...series.map(describe), "Bands are 95 % intervals.", missing(known.left));
  if (series.length > 0) drawPlot(holder, picture(span, series));
  else holder.replaceChildren(nothing(none(known.left)));
}

const none = ({ decisions }) => (decisions > 0 ? "Outcomes are awaited." : "No impressions in this period.");

function missing(left) {
  if (left.decisions === 0) return "";
  const reason = open(left) > 0
    ? `${count(open(left))} still wait for their outcome`
    : "nothing but clicks is known of them yet";
  return ` Without the latest ${count(left.decisions)} decisions: ${reason}.`;
}

const describe = ({ arm, width }) =>
  element("span", { class: "legend" }, swatch(arm), ` ${arm}, by ${duration(width)}`);

function rates(buckets, arm, span) {
  const width = pointWidth(buckets, arm, span);
  const line = points(buckets, arm, width)
    .filter(({ impressions }) => impressions > 0)
    .map((point) => ({ ...point, ...wilson(point.clicks, point.impressions) }));
  return { arm, width, line };
}

function picture(span, series) {
  const ticks = ceiling(series);
  return {
    title: "Click-through rate over time, by arm",
    height: 280,
    x: timeAxis(span),
    y: { domain: [0, ticks.at(-1)], ticks: () => ticks, format: percentTick, label: "Click-through rate" },
    marks: (place) => [bands, lines].flatMap((draw) => series.flatMap((each) => draw(place, each))),
    readings: readings(span, series),
    data: numbers(span, series),
  };
}

// A band may leave the picture: points of few impressions must not flatten all others.
function ceiling(series) {
  const most = Math.max(...series.flatMap(({ line }) => line.map(({ impressions }) => impressions)));
  const height = ({ estimate, upper, impressions }) =>
    (impressions > most / 3 ? upper : Math.min(upper, 1.5 * estimate));
  return roundTicks(0, Math.max(0.001, ...series.flatMap(({ line }) => line.map(height))), 5);
}

const at = (place, key) => (point) => `${place.x(point.middle)} ${place.y(point[key])}`;

function bands(place, { arm, width, line }) {
  return runs(line, width).map((run) =>
    (run.length === 1 ? whisker(place, arm, run[0]) : band(place, arm, run)));
}

function whisker(place, arm, { middle, lower, upper }) {
  const x = place.x(middle);
  return shape("line", { class: `whisker ${arm}`, x1: x, x2: x, y1: place.y(lower), y2: place.y(upper) });
}

function band(place, arm, run) {
  const edge = [...run.map(at(place, "upper")), ...run.toReversed().map(at(place, "lower"))];
  return shape("path", { class: `band ${arm}`, d: `M${edge.join("L")}Z` });
}

function lines(place, { arm, width, line }) {
  const paths = runs(line, width).map((run) =>
    shape("path", { class: `line ${arm}`, d: `M${run.map(at(place, "estimate")).join("L")}` }));
  return [...paths, ...line.map((point) => marker(arm, place.x(point.middle), place.y(point.estimate)))];
}

function readings({ name }, series) {
  const times = new Set(series.flatMap(({ line }) => line.map(({ middle }) => middle)));
  return [...times].map((at) => ({ at, lines: [name(at), ...series.flatMap((each) => reading(each, at))] }));
}

function reading({ arm, width, line }, at) {
  const point = line.find(({ start }) => start <= at && at < start + width);
  return point ? [`${arm} ${percent(point.estimate)} (${percentRange(point)})`] : [];
}

function numbers({ name }, series) {
  return {
    columns: ["From", "Arm", "Impressions", "Clicks", "Rate", "95 % interval"].map((head) => ({ head })),
    rows: series.flatMap(({ arm, line }) => line.map((point) => [
      name(point.start), arm, count(point.impressions), count(point.clicks),
      percent(point.estimate), percentRange(point),
    ])),
  };
}
