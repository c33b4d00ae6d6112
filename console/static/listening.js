// Pages that show what arrives by itself: they ask while somebody looks at them, and for a quarter of an hour at most.
import { all } from "./page.js";

const FIRST = 1000; // between two looks while nothing has come yet
const LATER = 2000;
const LONGEST = 15 * 60 * 1000;

for (const section of all("[data-listens]")) {
  const began = Date.now();
  const told = section.querySelector("[data-listening]");
  if (told) told.hidden = false;
  let timer = 0;

  async function renew() {
    const page = await (await fetch(section.dataset.page)).text();
    const fresh = new DOMParser().parseFromString(page, "text/html").getElementById(section.id);
    if (!fresh) return;
    const focused = section.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    section.replaceChildren(...fresh.childNodes);
    section.dataset.last = fresh.dataset.last;
    all("a", section).find((each) => each.getAttribute("href") === focused)?.focus();
  }

  async function look() {
    clearTimeout(timer);
    if (document.hidden || Date.now() - began > LONGEST) return;
    try {
      const found = await (await fetch(section.dataset.listens, { redirect: "error" })).json();
      if (String(found.id) !== section.dataset.last) await renew();
    } catch {
      // Signed out, or the service starts anew: the page stays as it is, and goes on asking.
    }
    timer = setTimeout(look, section.dataset.last === "0" ? FIRST : LATER);
  }

  document.addEventListener("visibilitychange", look);
  timer = setTimeout(look, FIRST);
}
