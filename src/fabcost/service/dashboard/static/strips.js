/** Small pictures inside table cells, which share a scale from the left edge to the right. */

import { shape } from "./elements.js";
import { linear, roundTicks } from "./scales.js";

const EDGE = 3;
const HEIGHT = 20;
const MIDDLE = HEIGHT / 2;

/** A scale from values to percent of a strip's width, which includes zero; ticks are multiples of `unit`. */
export function stripScale(values, many = 4, unit = 0) {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const ticks = unit ? wholeTicks(low, high, many, unit) : roundTicks(low, high > low ? high : low + 1, many);
  const place = linear([ticks[0], ticks.at(-1)], [EDGE, 100 - EDGE]);
  return { ticks, at: (value) => `${place(value).toFixed(2)}%` };
}

function wholeTicks(low, high, many, unit) {
  const step = Math.ceil((high - low) / (many * unit)) * unit;
  const first = Math.floor(low / step);
  return Array.from({ length: Math.ceil(high / step) - first + 1 }, (_, index) => (first + index) * step);
}

function strip(...shapes) {
  return shape("svg", { class: "strip", width: "100%", height: HEIGHT, "aria-hidden": "true" }, ...shapes);
}

function gridLines({ ticks, at }) {
  return ticks.map((value) => {
    const name = value === 0 ? "axis" : "grid";
    return shape("line", { class: name, x1: at(value), x2: at(value), y1: 0, y2: HEIGHT });
  });
}

/** A dot with its interval. */
export function interval(scale, { estimate, lower, upper }, look = "bandit") {
  const [from, to, dot] = [lower, upper, estimate].map(scale.at);
  return strip(...gridLines(scale),
    shape("line", { class: `whisker ${look}`, x1: from, x2: to, y1: MIDDLE, y2: MIDDLE }),
    shape("circle", { class: `marker ${look}`, cx: dot, cy: MIDDLE, r: 4 }));
}

/** A bar from zero. */
export function bar(scale, value) {
  const [left, right] = [Math.min(0, value), Math.max(0, value)].map((each) => parseFloat(scale.at(each)));
  const look = value < 0 ? "beam against" : "beam in-favour";
  return strip(...gridLines(scale),
    shape("rect", { class: look, x: `${left}%`, y: 4, width: `${right - left}%`, height: HEIGHT - 8 }));
}

/** The numbers of the scale. */
export function stripAxis({ ticks, at }, format) {
  const labels = ticks.map((value) =>
    shape("text", { class: "tick", x: at(value), y: 14, "text-anchor": "middle" }, format(value)));
  return shape("svg", { class: "strip", width: "100%", height: HEIGHT, "aria-hidden": "true" }, ...labels);
}
