// Adds parts of a ticket that can load late: longer copies of the mask, and the Print button.
import { all, enhance } from "./page.js";

// Copies the mask by its key. If pressed again at once, it adds the subject, and then the address.
let presses = [];
addEventListener("click", (event) => {
  const { copy, more } = event.target.closest?.("[data-more]")?.dataset ?? {};
  if (!more || event.isTrusted) return;
  presses = [...presses.filter((at) => Date.now() - at < 1500), Date.now()];
  const mask = copy.split(" ")[0];
  const address = `${location.origin}${location.pathname}`;
  event.target.dataset.copy = [mask, `${mask} ${more}`, `${mask} ${more} ${address}`][(presses.length - 1) % 3];
}, true);
enhance((root) => {
  for (const button of all("[data-print]", root)) {
    button.hidden = false;
    button.addEventListener("click", () => print());
  }
});
