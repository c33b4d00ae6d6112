// A list that stays live: its page is asked for again every few seconds while somebody looks at it. It rests while the
// page is scrolled down, hidden, or the list has the focus or a selection; and for good when nobody has touched the page
// for hours, since a page that asks keeps its login alive.
import { all } from "./page.js";

const PAUSE = 3000;
const LONGEST = 8 * 60 * 60 * 1000;
let touched = Date.now();
for (const name of ["pointermove", "keydown", "scroll"]) addEventListener(name, () => (touched = Date.now()), { passive: true });

for (const live of all("[data-live]")) {
  const list = document.querySelector(live.dataset.live);
  const told = document.querySelector("[data-live-told]");
  const reload = document.querySelector("[data-reload]");
  live.closest("[data-live-switch]").hidden = false;
  let timer = 0;

  const rests = () => {
    const chosen = getSelection();
    const isChosen = !chosen.isCollapsed && list.contains(chosen.anchorNode);
    return Date.now() - touched > LONGEST || document.hidden || scrollY > 200 || isChosen || list.contains(document.activeElement);
  };
  // Said once, not every few seconds, and not to who has switched it off meanwhile.
  function tell(text) {
    if (live.checked && told.textContent !== text) told.textContent = text;
  }
  async function look() {
    if (!rests()) {
      try {
        const answer = await fetch(location.href, { redirect: "error" });
        if (!answer.ok) throw new Error(String(answer.status));
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.querySelector(live.dataset.live);
        if (live.checked && !rests() && fresh.innerHTML !== list.innerHTML) list.replaceChildren(...fresh.childNodes);
        tell("Live.");
      } catch {
        tell("Not connected; trying again.");
      }
    } else tell("Resting while you read.");
    clearTimeout(timer); // of another look, after a change meanwhile
    if (live.checked) timer = setTimeout(look, PAUSE);
  }
  function change() {
    clearTimeout(timer);
    reload.hidden = live.checked;
    told.textContent = "";
    const address = new URL(location.href);
    if (live.checked) address.searchParams.set("live", "1");
    else address.searchParams.delete("live");
    history.replaceState(null, "", address);
    if (live.checked) look();
  }
  live.addEventListener("change", change);
  if (live.checked) change();
}
