/** Items as people know them: by name and picture where the catalogue has them, else by id. */

import { element } from "./elements.js";

/** The name of an item, or its id. */
export const itemName = ({ item, name, item_name: other }) => name ?? other ?? item;

/** An item in a table; pictures from elsewhere are left out, since nothing is loaded from there. */
export function itemCell(tally) {
  const { item, image } = tally;
  const name = itemName(tally);
  const picture = image && isOurs(image)
    ? [element("img", { src: image, alt: "", width: 36, height: 24, loading: "lazy" })] : [];
  return element("span", { class: "item" }, ...picture,
    element("span", { class: "name", title: name === item ? item : `${name}, ${item}` }, name));
}

function isOurs(address) {
  if (address.startsWith("data:image/")) return true;
  try {
    return new URL(address, document.baseURI).origin === location.origin;
  } catch {
    return false;
  }
}
