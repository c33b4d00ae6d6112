// The list beside a ticket: fetched when there is room for it, and again when one comes back to the page.
import { calmly } from "./page.js";

let isFilled = false;

async function look(box) {
  const answer = await fetch(box.dataset.beside).catch(() => null);
  if (!answer?.ok) return;
  const text = await answer.text();
  if (box.contains(document.activeElement)) return; // it is walked through just now
  const top = box.scrollTop;
  box.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
  box.scrollTop = isFilled ? top : box.querySelector("[aria-current]")?.offsetTop - box.clientHeight / 2;
  isFilled = true;
}

export function fill(box) {
  if (isFilled) return;
  look(box);
  const again = calmly(() => document.hidden || look(box), 500);
  document.addEventListener("visibilitychange", again);
  document.getElementById("ticket-head").addEventListener("put", again);
}
