// Updates parts of pages to what a reload would show, whenever a stream reports news. These requests do not keep a
// session alive.
import { all, follow } from "./page.js";
import { put } from "./swap.js";
import { t } from "./say.js";

const PAUSE = 1000; // milliseconds between requests, however much is new
const AGAIN = 2000; // milliseconds until a refused stream is opened again; doubles up to LONGEST
const LONGEST = 60_000;
const BY_ITSELF = { "X-Live": "1" };

for (const part of all("[data-live]")) {
  const box = document.querySelector(`[data-live-switch="${part.id}"]`);
  const told = box && document.querySelector("[data-live-told]");
  const reload = box && document.querySelector("[data-reload]");
  const listening = part.querySelector("[data-listening]");
  if (box) box.closest("[hidden]").hidden = false;
  if (listening) listening.hidden = false;
  let stream = null;
  let timer = 0;
  let retry = 0;
  let wait = AGAIN;
  let isNew = false;
  let looked = 0;

  const isOn = () => !document.hidden && (!box || box.checked);
  // A list with a switch does not move while a worker reads it.
  const isRead = () => box && (scrollY > 200 || part.contains(document.activeElement) || isChosen());
  function isChosen() {
    const chosen = getSelection();
    return !chosen.isCollapsed && part.contains(chosen.anchorNode);
  }
  function tell(text) {
    if (told && told.textContent !== text) told.textContent = text;
  }

  async function look() {
    timer = 0;
    if (!isNew || !isOn()) return;
    if (isRead()) return tell(t("Paused while you read."));
    isNew = false;
    looked = Date.now();
    try {
      await renew();
      tell(t("Live."));
    } catch {
      isNew = true; // the stream reports a lost connection
    }
  }
  async function renew() {
    const answer = await fetch(part.dataset.page ?? location.href, { redirect: "error", headers: BY_ITSELF });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
    if (!fresh || !isOn() || isRead()) throw new Error("read meanwhile");
    part.dataset.last = fresh.dataset.last;
    if (fresh.innerHTML === part.innerHTML) return;
    put(part, fresh);
  }
  function soon() {
    if (isNew && !timer) timer = setTimeout(look, Math.max(0, looked + PAUSE - Date.now()));
  }

  function attend() {
    stream?.close();
    clearTimeout(retry);
    stream = null;
    if (!isOn()) return;
    const address = new URL(part.dataset.live, location.href);
    address.searchParams.set("since", part.dataset.last);
    stream = follow(address.pathname + address.search, {
      open() {
        wait = AGAIN;
        if (!isNew) tell(t("Live."));
      },
      message() {
        isNew = true;
        soon();
      },
      error(isOver) {
        if (isOn()) tell(t("Disconnected; trying again."));
        if (!isOver) return; // it reconnects by itself
        clearTimeout(retry);
        retry = setTimeout(attend, wait);
        wait = Math.min(wait * 2, LONGEST);
      },
    });
  }
  function change() {
    reload.hidden = box.checked;
    tell("");
    const address = new URL(location.href);
    if (box.checked) address.searchParams.set("live", "1");
    else address.searchParams.delete("live");
    history.replaceState(null, "", address);
    attend();
  }

  if (box) {
    box.addEventListener("change", change);
    for (const name of ["scroll", "selectionchange", "focusout"]) document.addEventListener(name, soon, { passive: true });
  }
  document.addEventListener("visibilitychange", attend);
  if (box?.checked) change();
  else attend();
}
