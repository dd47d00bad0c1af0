/** What a picture says under the pointer: a thin line, and the numbers in a box beside it. */

import { shape } from "./elements.js";

const pictures = new WeakMap();

/** Let the pointer read the picture in `holder`; it stays where it is when the picture changes. */
export function watchPointer(holder, picture, place, readings) {
  if (!pictures.has(holder)) listen(holder);
  const pointer = pictures.get(holder)?.pointer ?? null;
  pictures.set(holder, { picture, place, readings, pointer });
  point(holder, pointer);
}

function listen(holder) {
  holder.addEventListener("pointermove", (event) => {
    point(holder, event.clientX - holder.getBoundingClientRect().left);
  });
  holder.addEventListener("pointerleave", () => point(holder, null));
}

function point(holder, pointer) {
  const drawn = pictures.get(holder);
  drawn.pointer = pointer;
  drawn.picture.querySelector(".readout")?.remove();
  if (pointer !== null && drawn.readings.length > 0) drawn.picture.append(reading(drawn, pointer));
}

function reading({ place, readings }, pointer) {
  const distance = ({ at }) => Math.abs(place.x(at) - pointer);
  const nearest = readings.reduce((best, each) => (distance(each) < distance(best) ? each : best));
  const at = place.x(nearest.at);
  const onLeft = at > (place.left + place.right) / 2;
  const x = onLeft ? at - 8 : at + 8;
  const lines = nearest.lines.map((text, index) =>
    shape("tspan", { x, dy: index === 0 ? 0 : "1.35em" }, text));
  return shape("g", { class: "readout", "aria-hidden": "true" },
    shape("line", { x1: at, x2: at, y1: place.top, y2: place.bottom }),
    shape("text", { x, y: place.top + 12, "text-anchor": onLeft ? "end" : "start" }, ...lines));
}
