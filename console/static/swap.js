// Parts of pages that are answered alone: what is clicked or sent inside of [data-part] changes that part in place, with
// focus, caret and scroll kept. Without this module the same links and forms load the page.
import { all, enhanced, isPlain, say } from "./page.js";
import { t } from "./say.js";
import { present } from "./toasts.js";

const SOON = 150; // milliseconds that nobody notices
let asked = 0;
let shown = location.pathname + location.search;

const partOf = (element) => element.closest?.("[data-part]");

// What finds an element again in the part that comes: what it is called, where it leads, what it sends.
function traces(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const parts = ["href", "name", "value", "aria-label"].filter((name) => element.hasAttribute(name));
  return element.localName + parts.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join("");
}

// The children of what came take the place of those of the part; open details stay open, what is being typed stays.
export function put(part, fresh) {
  const active = part.contains(document.activeElement) ? document.activeElement : null;
  const trace = active && traces(active);
  const typed = active?.matches("input:not([type=checkbox]):not([type=radio]), textarea") ? active : null;
  const caret = typed && typed.type !== "number" && typed.type !== "email" ? [typed.selectionStart, typed.selectionEnd] : null;
  const open = all("details[open]", part).map((each) => each.querySelector("summary")?.textContent);
  for (const name of fresh.getAttributeNames()) part.setAttribute(name, fresh.getAttribute(name));
  part.replaceChildren(...fresh.childNodes);
  for (const each of all("details", part)) {
    if (open.includes(each.querySelector("summary")?.textContent) && !each.matches(".menu")) each.open = true;
  }
  enhanced(part);
  if (!active) return;
  const again = part.querySelector(trace);
  if (typed && again) {
    again.value = typed.value;
    if (caret) again.setSelectionRange(...caret);
  }
  if (!again) part.tabIndex = -1;
  (again ?? part).focus({ preventScroll: true });
}

// Asks for a part and shows it; whether it was shown. Another page is gone to.
async function bring(part, address, options = {}) {
  const mine = ++asked;
  const busy = setTimeout(() => part.setAttribute("aria-busy", "true"), SOON);
  try {
    const answer = await fetch(address, { ...options, headers: { "X-Part": part.id } });
    const arrived = new URL(answer.url);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return false;
    const fresh = page.getElementById(part.id);
    if (answer.status >= 500) return fail();
    if (options.method && !answer.redirected) return null;
    if (!fresh || arrived.pathname !== location.pathname) return (location.assign(answer.url), false);
    put(part, fresh);
    document.title = page.title;
    shown = arrived.pathname + arrived.search;
    all("#toasts .toast", page).forEach(present);
    document.getElementById("told").textContent = part.querySelector(".pager .muted, .empty, .wrong")?.textContent ?? "";
    return true;
  } catch {
    return mine === asked ? fail() : false;
  } finally {
    clearTimeout(busy);
    part.removeAttribute("aria-busy");
  }
}

function fail() {
  say(t("The server does not answer. Nothing you typed is lost; try again."));
  return false;
}

async function go(part, address) {
  if (await bring(part, address)) history.pushState(null, "", shown);
}

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const part = link && partOf(link);
  if (!part || event.defaultPrevented || event.button || !isPlain(event)) return;
  const address = new URL(link.href);
  if (link.target || link.download || link.hasAttribute("download") || address.origin !== location.origin) return;
  if (address.pathname !== location.pathname || address.hash) return;
  event.preventDefault();
  go(part, address);
});

addEventListener("submit", async (event) => {
  const form = event.target;
  const part = partOf(form) ?? partOf(event.submitter ?? form);
  if (!part || event.defaultPrevented || form.target || form.enctype === "multipart/form-data") return;
  const address = new URL(form.action);
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  if (form.method === "get") {
    if (address.pathname !== location.pathname) return;
    event.preventDefault();
    for (const [name, value] of [...fields]) if (!value) fields.delete(name);
    address.search = fields;
    return go(part, address);
  }
  event.preventDefault();
  if (form.dataset.sending) return; // a second click sends nothing
  form.dataset.sending = "yes";
  const done = await bring(part, address, { method: "POST", body: fields });
  delete form.dataset.sending;
  if (done) history.replaceState(null, "", shown);
  if (done === null) { // a question, or what is wrong: the page that says it is loaded as without this module
    if (event.submitter?.name) {
      const { name, value } = event.submitter;
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    }
    HTMLFormElement.prototype.submit.call(form);
  }
});

addEventListener("popstate", () => {
  if (location.pathname + location.search === shown) return;
  const part = document.querySelector("[data-part]");
  if (part) bring(part, location.href);
});
