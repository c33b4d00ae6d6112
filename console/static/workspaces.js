// Loads the widgets that a page came without, one after another; gives texts their full height, and runs clocks.
import "./boards.js";
import { all, fitFrames } from "./page.js";
import { put } from "./swap.js";
import { t } from "./say.js";

async function ask(widget) {
  const answer = await fetch(widget.dataset.ask, { redirect: "error" }).catch(() => null);
  const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const fresh = page?.getElementById(widget.id);
  if (fresh) put(widget, fresh);
  else widget.querySelector("p a").textContent = t("Not loaded. Try again");
  widget.removeAttribute("data-ask");
  for (const back of all("input[name=back]", widget)) back.value = location.pathname + location.search;
  ready(widget);
}

// Runs a clock from the server's time, in case the clock of the computer is wrong.
function clock(time) {
  const ahead = time.dataset.now * 1000 - Date.now();
  const day = time.parentNode.querySelector("[data-day]");
  const [hours, days] = formats(time.dataset.clock, "noon" in time.dataset);
  let today = days.format(time.dataset.now * 1000);
  const tick = () => {
    const now = Date.now() + ahead;
    time.dateTime = new Date(now).toISOString();
    time.textContent = hours.format(now);
    if (today !== days.format(now)) day.textContent = today = days.format(now);
    if (time.isConnected) setTimeout(tick, 1000 - (now % 1000));
  };
  tick();
}

function formats(timeZone, isInHalves) {
  const lang = document.documentElement.lang;
  const hours = isInHalves ? { hour: "numeric", hourCycle: "h12" } : { hour: "2-digit", hourCycle: "h23" };
  return [
    new Intl.DateTimeFormat(isInHalves ? "en-US" : lang, { timeZone, minute: "2-digit", ...hours }),
    new Intl.DateTimeFormat(lang, { timeZone, weekday: "short", day: "numeric", month: "short" }),
  ];
}

// Starts a clock. In a zone unknown to the browser the first time stays.
function started(time) {
  try {
    clock(time);
  } catch {
    time.removeAttribute("data-clock");
  }
}

function ready(root) {
  all("[data-clock]", root).forEach(started);
  fitFrames(root);
}

ready(document);
for (const widget of all("[data-ask]")) await ask(widget);
