// Updates parts of pages in place: links and forms inside of [data-part] load that part alone; focus, caret and scroll
// position stay. Without this module the same links and forms load the page.
import { confirmed } from "./dialogs.js";
import { all, enhanced, isPlain, say } from "./page.js";
import { t } from "./say.js";
import { present } from "./toasts.js";

const SOON = 150; // milliseconds that nobody notices
let asked = 0;
let shown = location.pathname + location.search;

const partOf = (element) => element.closest?.("[data-part]");

// Returns a selector that finds an element again in the new part: by id, or by href, name, value and label.
function traces(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const parts = ["href", "name", "value", "aria-label"].filter((name) => element.hasAttribute(name));
  return element.localName + parts.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join("");
}

// Replaces the children of a part by those of `fresh`; open details stay open. Text being typed stays, unless
// isSettled: `fresh` is then the response to it. The event "put" lets modules change `fresh` first. An element with
// [data-own] stays whatever `fresh` has in its place, because a script updates it.
export function put(part, fresh, isSettled = false) {
  const active = part.contains(document.activeElement) ? document.activeElement : null;
  const trace = active && traces(active);
  const typed = active?.matches("input:not([type=checkbox]):not([type=radio]), textarea") ? active : null;
  const caret = typed && typed.type !== "number" && typed.type !== "email" ? [typed.selectionStart, typed.selectionEnd] : null;
  const acted = active?.form?.method === "post" ? part.querySelector("tbody tr.current") : null; // by a field beside the list
  const row = active?.closest("tbody tr") ?? acted;
  const place = row ? [...row.parentElement.children].indexOf(row) : -1;
  const open = all("details[open]", part).map((each) => each.querySelector("summary")?.textContent);
  for (const each of all("[data-own]", part)) fresh.querySelector(`#${CSS.escape(each.id)}`)?.replaceWith(each);
  part.dispatchEvent(new CustomEvent("put", { bubbles: true, detail: fresh }));
  for (const name of fresh.getAttributeNames()) part.setAttribute(name, fresh.getAttribute(name));
  part.replaceChildren(...fresh.childNodes);
  for (const each of all("details", part)) {
    if (open.includes(each.querySelector("summary")?.textContent) && !each.matches(".menu")) each.open = true;
  }
  enhanced(part);
  if (!active) return;
  const again = (acted && rowLink(part, place)) ?? part.querySelector(trace) ?? rowLink(part, place);
  if (typed && again && !acted) {
    if (!isSettled) again.value = typed.value;
    if (caret) again.setSelectionRange(...caret);
  }
  if (!again) part.tabIndex = -1;
  (again ?? part).focus({ preventScroll: true });
}

// Marks the row now at an index as current, for keys to continue there. Returns its link, or null.
function rowLink(part, place) {
  const rows = place < 0 ? [] : all("tbody tr", part).filter((each) => each.querySelector("a"));
  const now = rows[Math.min(place, rows.length - 1)];
  now?.classList.add("current");
  return now?.querySelector("a") ?? null;
}

// Fetches a part and shows it, or loads another page. The server responds to a form with the address of the next page;
// only fetching that renders the result. isStaying: a mistake in the form becomes a message, and the page stays as it
// is, with all choices on it. Returns whether the part was shown, or the form of a question.
async function bring(part, address, form = null, isStaying = false) {
  const mine = ++asked;
  const here = location.pathname;
  const active = document.activeElement;
  const sent = active?.value;
  const busy = setTimeout(() => part.setAttribute("aria-busy", "true"), SOON);
  const headers = { "X-Part": part.id };
  try {
    let answer = await fetch(address, form ? { method: "POST", body: form, headers } : { headers });
    const next = answer.headers.get("X-Location");
    if (location.pathname !== here) return false; // another ticket was opened in this place
    if (next && new URL(next, location.href).pathname !== location.pathname) return (load(next), false);
    if (next) answer = await fetch(next, { headers });
    if (answer.status >= 500) return failed(t("Something went wrong. Reload the page to see what was done."));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked || location.pathname !== here) return false;
    all("#toasts .toast", page).forEach(present);
    const problem = isStaying && !next && page.querySelector("[data-problem]");
    if (problem) return failed(problem.textContent);
    const asking = form && !next && page.querySelector("form[data-asks]");
    if (asking) return asking;
    if (form && !next) return shows(page);
    const fresh = page.getElementById(part.id);
    const arrived = new URL(answer.url);
    if (!fresh || arrived.pathname !== location.pathname) return (load(answer.url), false);
    put(part, fresh, active?.value === sent);
    for (const each of all("[data-along]")) { // parts that change with it
      const now = page.getElementById(each.id);
      if (now && each !== part) put(each, now);
    }
    document.title = page.title;
    shown = arrived.pathname + arrived.search;
    document.getElementById("told").textContent = part.querySelector(".pager .muted, .empty, .wrong")?.textContent ?? "";
    return true;
  } catch {
    return mine === asked && failed(t("The server does not respond. Nothing you typed is lost; try again."));
  } finally {
    clearTimeout(busy);
    if (mine === asked) part.removeAttribute("aria-busy");
  }
}

// Goes to another page, unless a script shows it in this one.
function load(address) {
  if (dispatchEvent(new CustomEvent("load-page", { detail: address, cancelable: true }))) location.assign(address);
}

function failed(text) {
  say(text);
  return false;
}

// Shows a page that came in place of the part, without fetching it again.
export function shows(page) {
  const main = document.getElementById("main");
  put(main, page.getElementById("main"), true);
  document.title = page.title;
  (main.querySelector("[data-focus], [autofocus]") ?? main).focus();
  return false;
}

// Asks the question of a form; resolves to whether the worker agreed.
function agrees(asking) {
  const button = asking.querySelector("button");
  return confirmed(asking.dataset.asks, button.textContent, button.autofocus);
}

async function go(part, address) {
  if (await bring(part, address)) history.pushState(null, "", shown);
}

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const part = link && partOf(link);
  if (!part || event.defaultPrevented || event.button || !isPlain(event)) return;
  const address = new URL(link.href);
  if (link.target || link.download || link.hasAttribute("download") || "reload" in link.dataset || address.origin !== location.origin) return;
  if (address.pathname !== location.pathname || address.hash) return;
  event.preventDefault();
  go(part, address);
});

addEventListener("submit", async (event) => {
  const form = event.target;
  const toast = form.closest(".toast"); // an undo, which changes the list in place
  const part = partOf(form) ?? partOf(event.submitter ?? form) ?? (toast && document.getElementById("list"));
  if (!part || event.defaultPrevented || form.target || "reload" in form.dataset || form.enctype === "multipart/form-data") return;
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
  const send = (to, sent) => bring(part, to, sent, "stays" in form.dataset);
  let isDone = await send(address, fields);
  if (isDone.dataset) isDone = (await agrees(isDone)) && (await send(isDone.action, new URLSearchParams(new FormData(isDone))));
  delete form.dataset.sending;
  if (!isDone) return;
  toast?.remove();
  history.replaceState(null, "", shown);
  dispatchEvent(new Event("saved"));
});

addEventListener("popstate", () => {
  if (location.pathname + location.search === shown) return;
  const part = document.querySelector("[data-part]");
  if (part) bring(part, location.href);
});
