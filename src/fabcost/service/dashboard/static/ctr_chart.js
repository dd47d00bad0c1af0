/** The click-through rate of each arm over time, with bands of 95 %; what is open is hollow. */

import { marker, presentArms, swatch } from "./arms.js";
import { element, nothing, shape } from "./elements.js";
import { count, duration, percentRange, percentTick } from "./numbers.js";
import { drawPlot } from "./plot.js";
import { roundTicks } from "./scales.js";
import { open, rateText } from "./settled.js";
import { wilsonSoFar } from "./statistics.js";
import { timeAxis } from "./time_axis.js";
import { period, points, pointWidth, runs } from "./timeline.js";

/** Draw the rates, hollow where outcomes are not `known` yet, and say in `note` what a point is. */
export function drawCtr(holder, note, { buckets, now }, known) {
  const span = period(buckets, now);
  const series = presentArms(buckets)
    .map((arm) => rates(buckets, arm, span, known))
    .filter(({ line }) => line.length > 0);
  note.replaceChildren(...series.map(describe), "Bands are 95 % intervals.", missing(known.left));
  if (series.length > 0) drawPlot(holder, picture(span, series, holder.clientWidth > 600 ? 340 : 280));
  else holder.replaceChildren(nothing(known.left.decisions > 0 ? "No outcomes yet." : "No decisions in this period."));
}

function missing(left) {
  if (left.decisions === 0) return "";
  const reason = open(left) > 0
    ? `${count(open(left))} of the latest ${count(left.decisions)} decisions still wait for their outcome`
    : `only clicks are known of the latest ${count(left.decisions)} decisions`;
  return ` Hollow points are lower bounds: ${reason}.`;
}

const describe = ({ arm, width }) =>
  element("span", { class: "legend" }, swatch(arm), ` ${arm}, by ${duration(width)}`);

function rates(buckets, arm, span, { isKnown }) {
  const width = pointWidth(buckets, arm, span);
  const waiting = new Set(buckets.filter((each) => !isKnown(each)).map(({ start }) => Math.floor(start / width) * width));
  const line = points(buckets, arm, width)
    .filter(({ decisions }) => decisions > 0)
    .map((point) => ({
      ...point, ...wilsonSoFar(point.clicks, point.impressions, open(point)), isOpen: waiting.has(point.start),
    }))
    .filter((point) => !point.isOpen || open(point) > 0);
  return { arm, width, line };
}

function picture(span, series, height) {
  const ticks = ceiling(series);
  return {
    title: "Click-through rate over time, by arm",
    height,
    x: timeAxis(span),
    y: { domain: [0, ticks.at(-1)], ticks: () => ticks, format: percentTick, label: "Click-through rate" },
    marks: (place) => [bands, lines].flatMap((draw) => series.flatMap((each) => draw(place, each))),
    readings: readings(span, series),
    data: numbers(span, series),
  };
}

// A band may leave the picture: points of few impressions must not flatten all others.
function ceiling(series) {
  const most = Math.max(...series.flatMap(({ line }) => line.map(({ decisions }) => decisions)));
  const height = ({ estimate, upper, decisions, isOpen }) => {
    if (isOpen) return decisions > most / 3 ? estimate : 0;
    return decisions > most / 3 ? upper : Math.min(upper, 1.5 * estimate);
  };
  return roundTicks(0, Math.max(0.001, ...series.flatMap(({ line }) => line.map(height))), 5);
}

const at = (place, key) => (point) => `${place.x(point.middle)} ${place.y(point[key])}`;

function bands(place, { arm, width, line }) {
  return runs(line.filter(({ isOpen }) => !isOpen), width).map((run) =>
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
  const paths = runs(line.filter(({ isOpen }) => !isOpen), width).map((run) =>
    shape("path", { class: `line ${arm}`, d: `M${run.map(at(place, "estimate")).join("L")}` }));
  return [...paths, ...line.map((point) => dot(place, arm, point))];
}

function dot(place, arm, { middle, estimate, isOpen }) {
  const drawn = marker(arm, place.x(middle), place.y(estimate));
  drawn.classList.toggle("open", isOpen);
  return drawn;
}

function readings({ name }, series) {
  const times = new Set(series.flatMap(({ line }) => line.map(({ middle }) => middle)));
  return [...times].map((at) => ({ at, lines: [name(at), ...series.flatMap((each) => reading(each, at))] }));
}

function reading({ arm, width, line }, at) {
  const point = line.find(({ start }) => start <= at && at < start + width);
  return point ? [`${arm} ${rateWords(point)} (${percentRange(point)})`] : [];
}

const rateWords = ({ estimate, isOpen }) => rateText({ estimate, atLeast: isOpen });

function numbers({ name }, series) {
  return {
    columns: ["From", "Arm", "Impressions", "Clicks", "Rate", "95 % interval"].map((head) => ({ head })),
    rows: series.flatMap(({ arm, line }) => line.map((point) => [
      name(point.start), arm, count(point.impressions), count(point.clicks),
      rateWords(point), percentRange(point),
    ])),
  };
}
