// Widgets of a page that were not drawn with it are asked for one after another, and texts are as high as what they say.
import { all } from "./page.js";
import { fitted } from "./frames.js";
import { put } from "./swap.js";
import { t } from "./say.js";

async function ask(widget) {
  const answer = await fetch(widget.dataset.ask, { redirect: "error" }).catch(() => null);
  const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const fresh = page?.getElementById(widget.id);
  if (fresh) put(widget, fresh);
  else widget.querySelector("p a").textContent = t("Not loaded. Try again");
  widget.removeAttribute("data-ask");
  all("[data-fit]", widget).forEach(fitted);
}

all("[data-fit]").forEach(fitted);
for (const widget of all("[data-ask]")) await ask(widget);
