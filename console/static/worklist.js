// Selecting rows of a list: all of them, ranges by Shift, and by x and Shift+x at the row that keys are at.
import { all, enhance, isTyping } from "./page.js";

const boxes = () => all('input[form="bulk"][name="ids[]"]');
let last = null;

function told() {
  const whole = document.querySelector("[data-all]");
  if (!whole) return;
  const chosen = boxes().filter((box) => box.checked).length;
  document.querySelector("[data-selected]").textContent = chosen ? `${chosen} / ${boxes().length}` : "";
  whole.hidden = false;
  whole.checked = chosen > 0 && chosen === boxes().length;
  whole.indeterminate = chosen > 0 && !whole.checked;
}

function select(box, isRange) {
  const listed = boxes();
  if (isRange && last && listed.includes(last)) {
    const [from, to] = [listed.indexOf(last), listed.indexOf(box)].sort((one, other) => one - other);
    for (const each of listed.slice(from, to + 1)) each.checked = box.checked;
  }
  last = box;
  told();
}

addEventListener("click", (event) => {
  const box = event.target;
  if (box.matches?.('input[form="bulk"][name="ids[]"]')) select(box, event.shiftKey);
  if (box.matches?.("[data-all]")) {
    for (const each of boxes()) each.checked = box.checked;
    told();
  }
});

addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const box = document.querySelector("tr.current")?.querySelector('input[name="ids[]"]');
  if (!box || !("keys" in document.documentElement.dataset) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  box.checked = !box.checked;
  select(box, event.shiftKey);
});

// A key of the bar does its act to the row that keys are at, when none is selected.
addEventListener("click", (event) => {
  if (event.isTrusted || !event.target.matches?.('button[form="bulk"]') || boxes().some((box) => box.checked)) return;
  const box = document.querySelector("tr.current")?.querySelector('input[name="ids[]"]');
  if (!box) return event.preventDefault();
  box.checked = true;
  told();
  const typed = event.target.parentElement.matches(".pick") && event.target.previousElementSibling;
  if (!typed || typed.value) return;
  event.preventDefault();
  typed.focus();
}, true);

// Rows are not moved under who reads them: a line above the list says that it has changed.
const followed = document.querySelector("[data-follow]");
let stream = null;
function follow() {
  stream?.close();
  if (!followed || document.hidden) return;
  stream = new EventSource(`${followed.dataset.follow}?since=${followed.dataset.followed}`);
  stream.addEventListener("message", () => {
    const line = document.querySelector("[data-news]");
    if (line) line.hidden = false;
  });
}
follow();
document.addEventListener("visibilitychange", follow);

enhance(told);
