/** What is wrong with the data of a model, in words. */

import { element } from "./elements.js";

/** Show the alarms of `stats` in `section`, whose list changes only when they do. */
export function showAlarms(section, list, { alarms }) {
  section.hidden = alarms.length === 0;
  const lines = alarms.map(({ kind, subject, text }) => ({ head: named(kind, subject), text }));
  const told = JSON.stringify(lines);
  if (list.dataset.told === told) return;
  list.dataset.told = told;
  list.replaceChildren(...lines.map(({ head, text }) =>
    element("li", {}, element("strong", {}, `${head}:`), ` ${text}${/[.?]$/.test(text) ? "" : "."}`)));
}

const named = (kind, subject) => (subject === "" ? sentence(kind) : `${sentence(kind)}, ${subject}`);

const sentence = (words) => words[0].toUpperCase() + words.slice(1);
