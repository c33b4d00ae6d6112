// Moves the focus within a toolbar.
import { all } from "./page.js";

// Makes it one Tab stop; arrow keys move inside.
export function rove(tools) {
  const stops = () => all(":is(button, summary):not(.items *)", tools);
  const stop = (chosen) => stops().forEach((each) => (each.tabIndex = each === chosen ? 0 : -1));
  stop(stops()[0]);
  tools.addEventListener("focusin", ({ target }) => stops().includes(target) && stop(target));
  tools.addEventListener("keydown", (event) => {
    const found = stops();
    const at = found.indexOf(event.target);
    const by = getComputedStyle(tools).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + by, ArrowLeft: at - by, Home: 0, End: found.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    found[(to + found.length) % found.length].focus();
  });
}
