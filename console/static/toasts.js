// Shows messages that close by themselves, unless the pointer or the focus is in them; a key undoes the newest.
import { all, enhance, formToken, show } from "./page.js";

const toasts = document.getElementById("toasts");
let before = null;

// Inserts the messages that came with the page again, because screen readers announce only changes.
const first = all(".toast", toasts);
first.forEach((each) => each.remove());
requestAnimationFrame(() => first.forEach((each) => present(each)));

// Returns how long a message stays. One that can undo an email closes just before the email is sent.
function milliseconds(toast) {
  const seconds = toast.querySelector("[name=seconds]")?.value;
  return seconds ? Math.max(seconds - 1, 1) * 1000 : toast.querySelector("form") ? 10000 : 6000;
}

// Reports a hint as seen once it is shown.
const seen = new Set();
function see(hint) {
  if (seen.has(hint)) return;
  seen.add(hint);
  const body = new URLSearchParams({ hint, _xsrf: formToken() });
  fetch("/-/hint", { method: "POST", body, keepalive: true }).catch(() => {});
}

function closable(toast) {
  for (const each of [toast, ...all("[data-hint]", toast)]) if (each.dataset.hint) see(each.dataset.hint);
  for (const close of all("[data-dismiss]", toast)) {
    close.hidden = false;
    close.addEventListener("click", () => {
      toast.remove();
      before?.focus();
    });
  }
}

enhance((root) => all(".hint", root).forEach(closable));

// Shows a message that came with a part of a page.
export function present(toast) {
  place(toast, milliseconds(toast));
}
function place(toast, left) {
  closable(toast);
  show(toast, left);
  if (toast.querySelector("[name=seconds]")) import("./countdown.js").then(({ count }) => count(toast));
}

// Moves messages that can still be undone to the next page.
const KEPT = "toasts";
addEventListener("pagehide", () => {
  const left = all(".toast:has(form):not([data-done])", toasts).map((each) => [each.outerHTML, Number(each.dataset.until)]);
  sessionStorage.setItem(KEPT, JSON.stringify(left));
});
toasts.addEventListener("submit", (event) => (event.target.closest(".toast").dataset.done = ""));
for (const [html, until] of JSON.parse(sessionStorage.getItem(KEPT) ?? "[]")) {
  const toast = new DOMParser().parseFromString(html, "text/html").querySelector(".toast");
  if (until > Date.now()) place(toast, until - Date.now());
}
sessionStorage.removeItem(KEPT);

// Undoes the newest message that has an undo; false if none has.
export function undo() {
  const button = all(".toast form button", toasts).at(-1);
  button?.click();
  return Boolean(button);
}

addEventListener("keydown", (event) => {
  if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey) return;
  const inside = toasts.contains(document.activeElement);
  const target = inside ? before : all(".toast button", toasts).find((each) => !each.hidden);
  if (!target) return;
  event.preventDefault();
  if (!inside) before = document.activeElement;
  target.focus();
});
