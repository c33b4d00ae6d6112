// Shows the list next to a ticket on a wide screen. A ticket of the list opens in place of the current one, and the
// next one is prefetched. Without this module the same links load pages.
import { all, calmly, enhanced, isPlain, isTyping, paced } from "./page.js";
import { present } from "./toasts.js";

const WIDE = matchMedia("(min-width: 1280px)");
const FRESH = 60_000; // milliseconds that a prefetched page stays usable; the stream brings later changes
const box = () => document.querySelector("[data-beside]");
const ticket = () => document.getElementById("ticket");

// -- the list ---------------------------------------------------------------------------------------------------------

let listed = ""; // address of the current rows

async function list() {
  const pane = box();
  if (!pane || !WIDE.matches || document.documentElement.dataset.panes === "ticket") return;
  const address = pane.dataset.beside;
  const response = await fetch(address, { headers: { "X-Live": "1" } }).catch(() => null);
  if (!response?.ok || pane !== box()) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const active = pane.contains(document.activeElement) ? document.activeElement.dataset.mask : null;
  const top = pane.scrollTop;
  const isFirst = !listed;
  listed = address;
  pane.replaceChildren(...page.body.childNodes);
  enhanced(pane);
  if (active) pane.querySelector(`[data-mask="${CSS.escape(active)}"]`)?.focus({ preventScroll: true });
  mark();
  const current = pane.querySelector("[aria-current]");
  if (isFirst && current) pane.scrollTop = current.offsetTop - pane.clientHeight / 2;
  else pane.scrollTop = top;
}
const listSoon = calmly(list, 300);

const listInTime = paced(list, 60_000); // after acts elsewhere

// Marks the row of the current ticket. Returns whether the list has it.
function mark() {
  const mask = ticket()?.dataset.ticket.split("/").pop();
  let row = null;
  for (const each of all("[data-mask]", box() ?? document.createElement("p"))) {
    const isShown = each.dataset.mask === decodeURIComponent(mask);
    if (isShown) row = each;
    if (isShown) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  if (row) showRow(row);
  return Boolean(row);
}

// Scrolls the list to a row, but never the page.
function showRow(row) {
  const pane = box();
  const [list, at] = [pane, row].map((each) => each.getBoundingClientRect());
  const above = list.top + (pane.querySelector("h2")?.offsetHeight ?? 0) - at.top;
  const below = at.bottom - Math.min(list.bottom, innerHeight);
  if (above > 0) pane.scrollTop -= above;
  else if (below > 0) pane.scrollTop += below;
}

// -- opening a ticket -------------------------------------------------------------------------------------------------

let ahead = null; // the prefetched ticket: {address, at, page}, page as a promise
let opening = 0;

async function fetchTicket(address, more = {}) {
  const response = await fetch(address, { headers: { "X-Part": "ticket", ...more.headers }, priority: more.priority });
  if (!response.ok || new URL(response.url).pathname !== new URL(address, location.href).pathname) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Prefetches the next ticket of the list once the page is loaded. One at a time, never if the browser saves data.
const fetchAhead = calmly(() => {
  const next = document.querySelector("#ticket-head [rel=next]")?.href;
  if (!next || ahead?.address === next || document.hidden || navigator.connection?.saveData) return;
  const page = fetchTicket(next, { headers: { "X-Ahead": "1" }, priority: "low" }).catch(() => null);
  ahead = { address: next, at: Date.now(), page };
}, 400);

// Shows a ticket in place of the current one. Returns false if it cannot.
async function open(address, isBack = false) {
  const mine = ++opening;
  const before = ticket();
  const isFresh = ahead?.address === new URL(address, location.href).href && Date.now() - ahead.at < FRESH;
  const [page] = await Promise.all([
    (isFresh && ahead.page.then((each) => each ?? fetchTicket(address))) || fetchTicket(address),
    before.querySelector("form[data-writing]")?.keepNow(),
  ]).catch(() => [null]);
  if (mine !== opening) return true; // a later call opened another ticket
  const fresh = page?.getElementById("ticket");
  if (!fresh) return false;
  ahead = null;
  dispatchEvent(new CustomEvent("leave", { detail: { isBack } }));
  const isSame = new URL(address, location.href).pathname === location.pathname;
  if (!isBack) history[isSame ? "replaceState" : "pushState"](null, "", address);
  const hadFocus = before.contains(document.activeElement) || document.activeElement === document.body;
  before.replaceWith(fresh);
  const pane = page.querySelector("[data-beside]");
  if (pane && box()) box().dataset.beside = pane.dataset.beside;
  document.title = page.title;
  if (hadFocus) fresh.focus({ preventScroll: true });
  dispatchEvent(new CustomEvent("arrive", { detail: { isBack } }));
  enhanced(fresh);
  all("#toasts .toast", page).forEach(present);
  if (!mark()) listSoon();
  return true;
}

async function openOrLoad(address, isBack) {
  if (!(await open(address, isBack))) location.assign(address);
}

const isTicket = (address) => address.origin === location.origin && /^\/tickets\/[^/]+$/.test(address.pathname);

addEventListener("click", (event) => {
  const link = event.target.closest?.(".list-beside a[data-mask], #ticket-head .beside a[rel]");
  if (!link || event.defaultPrevented || event.button || !isPlain(event) || !ticket()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  openOrLoad(link.href);
}, true);

// Opens tickets here that another script is about to load as pages.
addEventListener("load-page", (event) => {
  const address = new URL(event.detail, location.href);
  if (!ticket() || !isTicket(address)) return;
  event.preventDefault();
  openOrLoad(address.href).then(listSoon);
});

addEventListener("popstate", (event) => {
  const here = ticket();
  if (!here || !isTicket(location) || location.pathname === here.dataset.ticket) return;
  event.stopImmediatePropagation();
  openOrLoad(location.href, true);
}, true);

// Opens the next or previous ticket of the list on j, k and the arrows.
addEventListener("keydown", (event) => {
  const row = document.activeElement?.closest(".list-beside li");
  const to = { j: "nextElementSibling", ArrowDown: "nextElementSibling", k: "previousElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (!row || !to || !isPlain(event) || isTyping(event.target)) return;
  if (event.key.length === 1 && !("keys" in document.documentElement.dataset)) return;
  const link = row[to]?.querySelector("a");
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!link) return;
  link.focus({ preventScroll: true });
  showRow(link);
  openOrLoad(link.href);
}, true);

// -- both, or the ticket alone ----------------------------------------------------------------------------------------

addEventListener("click", (event) => {
  const panes = event.target.closest?.("[data-panes]:is(button)")?.dataset.panes;
  if (!panes) return;
  document.documentElement.dataset.panes = panes;
  document.cookie = `panes=${panes}; Path=/; SameSite=Lax; Max-Age=31536000`;
  list();
  (panes === "ticket" ? document.querySelector("button[data-panes=both]") : box().querySelector("a"))?.focus();
});

export function begin() {
  list();
  fetchAhead();
  WIDE.addEventListener("change", list);
  document.addEventListener("visibilitychange", () => document.hidden || listSoon());
  addEventListener("put", ({ target }) => target.id === "ticket-head" && (listSoon(), fetchAhead()));
  addEventListener("arrive", fetchAhead);
  addEventListener("lists-changed", () => document.hidden || listInTime());
}
