// What is not needed at once on a ticket: more than the mask on its key, and the button that prints.
import { all, enhance } from "./page.js";

// The key of the mask copies it; at once again, with the subject; and again, with the address.
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
