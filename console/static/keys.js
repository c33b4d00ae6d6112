// Keys. Single ones do nothing while somebody types or composes, and can be switched off in the account.
// Their table is the list that `?` shows; only what they do stands here.
import { all, isTyping } from "./page.js";
import { undo } from "./toasts.js";

const places = Object.fromEntries(all("#keys [data-go]").map((each) => [each.dataset.key.split(" ")[1], each.dataset.go]));
const hasKeys = "keys" in document.documentElement.dataset;
let waitsForPlace = 0;

function step(by) {
  const rows = all(".table tbody tr").filter((row) => row.querySelector("a"));
  if (!rows.length) return;
  const now = rows.findIndex((row) => row.classList.contains("current"));
  const next = rows[Math.min(Math.max(now + by, 0), rows.length - 1)];
  rows.forEach((row) => row.classList.toggle("current", row === next));
  next.querySelector("a").focus();
}

const single = {
  "?": () => document.getElementById("keys")?.showModal(),
  "/": () => document.querySelector("[data-search]")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  o: () => document.querySelector("tr.current a")?.click(),
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
  const isPlace = Date.now() - waitsForPlace < 1500;
  waitsForPlace = 0;
  if (isPlace && places[event.key]) return location.assign(places[event.key]);
  if (single[event.key]) {
    event.preventDefault();
    single[event.key]();
  }
});
