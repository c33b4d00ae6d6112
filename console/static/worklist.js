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

enhance(told);
