// A list that stays live: its page is asked for again every few seconds while somebody looks at it. It rests while the
// page is scrolled down, hidden, or the list has the focus.
import { all } from "./page.js";

const PAUSE = 3000;

for (const live of all("[data-live]")) {
  const list = document.querySelector(live.dataset.live);
  const told = document.querySelector("[data-live-told]");
  const reload = document.querySelector("[data-reload]");
  live.closest("[data-live-switch]").hidden = false;
  let timer = 0;

  const rests = () => document.hidden || scrollY > 200 || list.contains(document.activeElement);
  async function look() {
    if (!rests()) {
      try {
        const answer = await fetch(location.href, { redirect: "error" });
        if (!answer.ok) throw new Error(String(answer.status));
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.querySelector(live.dataset.live);
        if (live.checked && !rests() && fresh.innerHTML !== list.innerHTML) list.replaceChildren(...fresh.childNodes);
        told.textContent = "Live.";
      } catch {
        told.textContent = "Not connected; trying again.";
      }
    } else told.textContent = "Resting while you read.";
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
