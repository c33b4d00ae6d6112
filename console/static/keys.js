// Handles keys. Single keys do nothing while a worker types or composes, and an account can turn them off.
// The list that `?` shows has the keys and where they lead; other acts are here.
import { all, isTyping, say } from "./page.js";
import { t } from "./say.js";
import { undo } from "./toasts.js";

const going = all("#keys [data-go]").map(({ dataset }) => [...dataset.key.split(" ").reverse(), dataset.go]);
// Opened after g.
const places = Object.fromEntries(going.filter((each) => each.length > 2).map(([key, , path]) => [key, path]));
const ways = Object.fromEntries(going.filter((each) => each.length === 2));
const hasKeys = "keys" in document.documentElement.dataset;
let waitsForPlace = 0;

// Focuses the next or previous part for j and k.
function stepTo(parts, by) {
  const at = parts.findIndex((each) => each.contains(document.activeElement));
  const next = parts[at < 0 ? (by > 0 ? 0 : parts.length - 1) : Math.min(Math.max(at + by, 0), parts.length - 1)];
  next.focus();
}

export function step(by) {
  const parts = all("[data-step]");
  if (parts.length) return stepTo(parts, by);
  const rows = all(".table tbody tr").filter((row) => row.querySelector("a"));
  if (!rows.length) return;
  const now = rows.findIndex((row) => row.classList.contains("current"));
  const next = rows[Math.min(Math.max(now + by, 0), rows.length - 1)];
  rows.forEach((row) => row.classList.toggle("current", row === next));
  next.querySelector("a").focus();
}

// Focus before a key moved it into a field; restored once the field is saved.
let origin = null;
function enter(field) {
  origin = document.activeElement;
  field.focus();
  const now = document.activeElement;
  if (now?.matches("input")) now.select(); // typing replaces the current value
}
addEventListener("saved", () => {
  if (!origin) return;
  if (origin.isConnected && origin !== document.body) origin.focus({ preventScroll: true });
  else document.activeElement?.blur();
  origin = null;
});
addEventListener("pointerdown", () => (origin = null));

// Presses the link or button that a page has for a key, or focuses its field. Returns whether there is one.
function press(key) {
  const found = document.querySelector(`[data-hotkey="${CSS.escape(key)}"]`);
  if (!found || found.hidden) return false;
  const more = found.matches("summary") && found.parentElement;
  if (more) {
    more.open = true;
    const field = more.querySelector("input:not([type=hidden]), select:not([hidden])");
    if (field) enter(field);
  } else if (!found.matches("input, select, textarea")) found.click();
  else (found.closest("details") && (found.closest("details").open = true), enter(found));
  return true;
}
// Lists the keys of the page with the others.
function list() {
  const listed = document.querySelector("#keys .keys");
  all(".of-page", listed).forEach((each) => each.remove());
  const rows = all("[data-hotkey]").map((each) => {
    const row = document.createElement("div");
    const key = Object.assign(document.createElement("kbd"), { textContent: each.dataset.hotkey });
    const does = Object.assign(document.createElement("dd"), { textContent: each.ariaLabel || (each.labels?.[0] ?? each).textContent.trim() });
    const term = document.createElement("dt");
    row.className = "of-page";
    term.append(key);
    row.append(term, does);
    return row;
  });
  listed?.prepend(...rows);
}

// Says why a key of other tickets does nothing here. Keys pressed soon after it were meant as text, and are ignored.
const DEAF = 3000; // milliseconds after the last such key
let deafUntil = 0;
const missing = (key) => document.querySelector("[data-ticket]") && {
  r: t("You cannot reply to this ticket."), f: t("You cannot forward from this ticket."), n: t("You cannot write on this ticket."),
  R: t("No macro is available for this ticket."),
}[key];
function refuse(text) {
  say(text);
  deafUntil = Date.now() + DEAF;
}
addEventListener("refused", ({ detail }) => refuse(detail));

const single = {
  "?": () => (list(), document.getElementById("keys")?.showModal()),
  "/": () => document.querySelector("[data-search]")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  o: () => (document.querySelector("tr.current a") ?? document.activeElement.querySelector(":scope > .turn > summary"))?.click(),
  z: () => undo(),
  g: () => (waitsForPlace = Date.now()),
};

addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const form = event.target.closest?.("form");
    const first = form?.querySelector("[data-first]") ?? form?.querySelector("button[type=submit]");
    if (first) (event.preventDefault(), first.click());
    return;
  }
  if (event.key === "Escape" && isTyping(event.target) && !event.target.closest("dialog, [data-editor]")) event.target.blur();
  if (!hasKeys || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  if (Date.now() < deafUntil) {
    if (event.key === "Escape") deafUntil = 0;
    else if (event.key.length === 1 || event.key === "Enter") (event.preventDefault(), (deafUntil = Date.now() + DEAF));
    return;
  }
  const isPlace = Date.now() - waitsForPlace < 1500;
  waitsForPlace = 0;
  if (isPlace && places[event.key]) return location.assign(places[event.key]);
  if (press(event.key)) return event.preventDefault();
  if (missing(event.key)) return (event.preventDefault(), refuse(missing(event.key)));
  if (ways[event.key]) return location.assign(ways[event.key]);
  if (single[event.key]) {
    event.preventDefault();
    single[event.key]();
  }
});
