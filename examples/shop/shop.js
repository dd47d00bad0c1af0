// A page that lets a fabcost server choose what it offers first. The client is what
// clients/typescript builds, copied beside this file as fabcost/.
import { Client } from "./fabcost/index.js";

const PICTURES = { kitchen: "☕", light: "☀", textile: "▦" };
const { url, model, key } = document.documentElement.dataset;

const shop = new Client({ url, model, key });
const { items } = await (await fetch("products.json")).json();

// Whatever happens to the server, the visitor sees something within a second.
const decision = await shop.decide({
  context: {
    device: matchMedia("(max-width: 40rem)").matches ? "phone" : "desk",
    weekend: [0, 6].includes(new Date().getDay()),
  },
  deferred: true, // it counts once it was seen
  fallback: Object.keys(items)[0],
});

const offer = document.getElementById("offer");
offer.append(...shown(decision.item));
offer.dataset.item = decision.item;
offer.dataset.arm = decision.arm;
const button = document.createElement("button");
button.textContent = "Into the basket";
button.addEventListener("click", buy, { once: true });
offer.append(button);
shop.whenSeen(offer, decision);

for (const item of Object.keys(items)) {
  const place = document.createElement("li");
  place.append(...shown(item));
  document.getElementById("products").append(place);
}

function buy() {
  document.getElementById("basket").textContent = `In your basket: ${named(decision.item)}.`;
  // Kept until the server has it: nobody waits for it, and nothing is lost if it is away.
  shop.activate(decision).catch(() => {});
  shop.feedback(decision).catch(() => {});
}

function shown(item) {
  const picture = element("div", PICTURES[items[item].kind], "picture");
  picture.setAttribute("aria-hidden", "true");
  return [picture, element("h3", named(item)), element("p", `${items[item].price} €`)];
}

function named(item) {
  const words = item.replaceAll("-", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function element(tag, text, name = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = name;
  return made;
}
