/** A picture with two axes, as wide as its holder, with its numbers in a table for screen readers. */

import { element, shape, table } from "./elements.js";
import { watchPointer } from "./readout.js";
import { linear } from "./scales.js";

const MARGIN = { top: 10, right: 14, bottom: 40, left: 58 };

/**
 * Draw into `holder`.
 *
 * An axis is {domain, ticks(length) → values, format, label, transform}; `marks(place)` gives the
 * shapes, with place.x and place.y from values to pixels; `readings` are {at, lines} to be read off
 * under the pointer; `data` is {columns, rows}.
 */
export function drawPlot(holder, { title, height, x, y, marks, readings = [], data }) {
  const width = Math.max(holder.clientWidth, 240);
  const place = area(width, height, x, y);
  const look = { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title };
  const picture = shape("svg", look,
    ...verticalAxis(place, y),
    ...horizontalAxis(place, x),
    ...marks(place));
  const numbers = element("div", { class: "hidden" }, table(title, data.columns, data.rows));
  holder.replaceChildren(picture, numbers);
  watchPointer(holder, picture, place, readings);
}

function area(width, height, x, y) {
  const left = MARGIN.left;
  const right = width - MARGIN.right;
  const top = MARGIN.top;
  const bottom = height - MARGIN.bottom;
  return {
    left, right, top, bottom,
    x: through(x, [left, right]),
    y: through(y, [bottom, top]),
  };
}

function through({ domain, transform = (value) => value }, range) {
  const scale = linear(domain, range);
  return (value) => scale(transform(value));
}

function verticalAxis(place, { ticks, format, label }) {
  const middle = (place.top + place.bottom) / 2;
  const lines = ticks(place.bottom - place.top).flatMap((value) => {
    const at = place.y(value);
    return [
      shape("line", { class: "grid", x1: place.left, x2: place.right, y1: at, y2: at }),
      shape("text", { class: "tick", x: place.left - 8, y: at + 4, "text-anchor": "end" }, format(value)),
    ];
  });
  const turn = `translate(12 ${middle}) rotate(-90)`;
  return [...lines, shape("text", { class: "axis-label", "text-anchor": "middle", transform: turn }, label)];
}

function horizontalAxis(place, { ticks, format, label }) {
  const { left, right, bottom } = place;
  const marks = ticks(right - left).flatMap((value) => {
    const at = place.x(value);
    return [
      shape("line", { class: "axis", x1: at, x2: at, y1: bottom, y2: bottom + 5 }),
      shape("text", { class: "tick", x: at, y: bottom + 18, "text-anchor": "middle" }, format(value)),
    ];
  });
  return [
    shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    ...marks,
    shape("text", { class: "axis-label", x: right, y: bottom + 34, "text-anchor": "end" }, label),
  ];
}
