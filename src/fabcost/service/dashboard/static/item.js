/** Items as people know them: by name and picture where the catalogue has them, else by id. */

import { element } from "./elements.js";

/** The name of an item, or its id. */
export const itemName = ({ item, name, item_name: other }) => name ?? other ?? item;

/** An item in a table; pictures from elsewhere only where the server allows it. */
export function itemCell(tally) {
  const { item, image } = tally;
  const name = itemName(tally);
  const picture = image && isAllowed(image)
    ? [element("img", { src: image, alt: "", width: 36, height: 24, loading: "lazy" })] : [];
  return element("span", { class: "item" }, ...picture,
    element("span", { class: "name", title: name === item ? item : `${name}, ${item}` }, name));
}

function isAllowed(address) {
  if (address.startsWith("data:image/")) return true;
  const origins = [location.origin, ...document.documentElement.dataset.images.split(" ")];
  try {
    return origins.includes(new URL(address, document.baseURI).origin) || origins.includes("*");
  } catch {
    return false;
  }
}
