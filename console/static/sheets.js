// Opens small pages in a dialog: links with [data-sheet], and the links and forms inside. Without this module they load
// as whole pages.
import { all, enhanced, isPlain, say } from "./page.js";
import { t } from "./say.js";
import { present } from "./toasts.js";

const sheet = document.getElementById("sheet");
let opener = null;

async function show(address, options = {}) {
  const headers = { "X-Part": "sheet" };
  const response = await fetch(address, { ...options, headers }).catch(() => null);
  if (!response || response.status >= 500) return say(t("The server does not respond. Nothing you typed is lost; try again."));
  const next = response.headers.get("X-Location");
  if (next) return leave(next);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const main = page.getElementById("main");
  if (!main || !response.headers.get("content-type")?.startsWith("text/html")) return location.assign(address);
  all(".drawer, h1 ~ .muted", main).forEach((each) => each.remove());
  sheet.replaceChildren(...main.childNodes);
  sheet.setAttribute("aria-label", sheet.querySelector("h1")?.textContent.trim() ?? "");
  all("#toasts .toast", page).forEach(present);
  if (!sheet.open) sheet.showModal();
  enhanced(sheet);
  const first = ["[aria-invalid=true]", "[autofocus]", "input:not([type=hidden])", "a, button"];
  first.map((each) => sheet.querySelector(each)).find(Boolean)?.focus();
}

function leave(next) {
  sheet.close();
  if (dispatchEvent(new CustomEvent("load-page", { detail: next, cancelable: true }))) location.assign(next);
}

const isHere = (element) => sheet.contains(element) && !element.closest("[data-reload]") && !element.target;

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.button || !isPlain(event) || event.defaultPrevented) return;
  if (!("sheet" in link.dataset) && !isHere(link)) return;
  event.preventDefault();
  if ("dismisses" in link.dataset) return sheet.close();
  if (isHere(link) && new URL(link.href).pathname !== new URL(sheet.dataset.at).pathname) return leave(link.href);
  if (!sheet.open) opener = document.activeElement;
  sheet.dataset.at = link.href;
  link.closest("details.menu")?.removeAttribute("open");
  show(link.href);
});

addEventListener("submit", (event) => {
  const form = event.target;
  if (!isHere(form) || event.defaultPrevented) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  if (form.method === "get") return show(`${form.action}?${fields}`);
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  show(form.action, { method: "POST", body: fields }).finally(() => delete form.dataset.sending);
});

sheet?.addEventListener("close", () => opener?.focus());
