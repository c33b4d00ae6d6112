// Shows the text in data-waits of a slow link or form until the next page is there.
import { all, isPlain } from "./page.js";

const SOON = 300; // milliseconds that nobody notices

function wait(text) {
  const told = document.createElement("p");
  told.className = "note waiting";
  told.setAttribute("role", "status");
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", text);
  told.append(`${text} `, bar);
  setTimeout(() => document.querySelector("main").prepend(told), SOON);
}

addEventListener("submit", (event) => {
  const text = event.submitter?.dataset.waits ?? event.target.dataset.waits;
  if (text && !event.defaultPrevented) wait(text);
});
addEventListener("click", (event) => {
  const text = event.target.closest?.("a[data-waits]")?.dataset.waits;
  if (text && event.button === 0 && isPlain(event) && !event.defaultPrevented) wait(text);
});
addEventListener("pageshow", () => all(".waiting").forEach((each) => each.remove())); // after Back from the next page
