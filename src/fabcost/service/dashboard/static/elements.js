/** Elements of the page and of pictures; text is always set as text, never parsed. */

const SVG = "http://www.w3.org/2000/svg";

/** The element of the page with this id. */
export const part = (id) => document.getElementById(id);

/** An HTML element; attributes that are null are left out. */
export function element(name, attributes = {}, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function shape(name, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, name), attributes, children);
}

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** A table; `columns` are {head, number, wide, plot}, a row is a list of texts or nodes. */
export function table(caption, columns, rows) {
  const head = columns.map((column) => element("th", { scope: "col", class: kind(column) }, column.head));
  return element("table", {},
    element("caption", { class: "hidden" }, caption),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((row) => tableRow(columns, row))));
}

/** One row of a table, whose first cell names it. */
export function tableRow(columns, cells) {
  const [first, ...rest] = cells;
  return element("tr", {},
    element("th", { scope: "row", class: kind(columns[0]) }, first),
    ...rest.map((cell, index) => element("td", { class: kind(columns[index + 1]) }, cell)));
}

function kind({ number, wide, plot }) {
  const names = [number && "number", wide && "wide-only", plot && "plot"].filter(Boolean);
  return names.length > 0 ? names.join(" ") : null;
}

/** Pairs of a name and a value for a description list. */
export function facts(pairs) {
  return pairs.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

/** A line of text where there is nothing to draw. */
export const nothing = (text) => element("p", { class: "nothing" }, text);
