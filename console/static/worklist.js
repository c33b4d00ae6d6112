// Selects rows of a list: all, ranges with Shift, or with x and Shift+x from the current row.
import { step } from "./keys.js";
import { all, enhance, follow, isTyping, paced } from "./page.js";
import { t } from "./say.js";

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
  limit();
}

// Offers the choices of a group only if all selected rows belong to it; the groups of rows on other pages are unknown.
function limit() {
  const selected = boxes().filter((box) => box.checked);
  const every = document.querySelector('.bulk [name="every"]')?.checked;
  let isLeftOut = false;
  for (const group of all(".bulk [data-only]")) {
    const select = group.closest("select");
    const fitting = selected.filter((box) => box.dataset.of === group.dataset.only).length;
    group.hidden = group.disabled = every || fitting < selected.length;
    if (group.disabled && group.contains(select.selectedOptions[0])) select.value = "";
    isLeftOut ||= group.disabled && (every || fitting > 0);
  }
  for (const sentence of all(".bulk [data-left-out]")) sentence.hidden = !isLeftOut;
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
  if (box.matches?.('.bulk [name="every"]')) limit();
  if (box.matches?.("[data-all]")) {
    for (const each of boxes()) each.checked = box.checked;
    told();
  }
});

// Opens the menu of the bar upwards, unless the list is too short for it.
addEventListener("toggle", ({ target }) => {
  if (!target.matches?.(".bulk .menu")) return;
  target.classList.add("up");
  const top = document.querySelector("main").offsetTop;
  if (target.open && target.querySelector(".items").getBoundingClientRect().top < top) target.classList.remove("up");
}, true);

// Keys continue at a row that an undo restored.
let undone = "{}";
addEventListener("submit", ({ target }) => (undone = (target.closest(".toast") && target.elements.before?.value) || "{}"), true);
addEventListener("saved", () => {
  const row = boxes().find(({ value }) => value in JSON.parse(undone))?.closest("tr");
  for (const each of row ? all("tr.current") : []) each.classList.remove("current");
  row?.classList.add("current");
  row?.querySelector("a")?.focus();
});

const currentBox = () => document.querySelector("tr.current")?.querySelector('input[name="ids[]"]');

// x toggles the current row, Shift+x the rows up to it; Shift+j and Shift+k move and then select the row.
addEventListener("keydown", (event) => {
  const by = { J: 1, K: -1 }[event.key];
  if ((!by && event.key.toLowerCase() !== "x") || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (!("keys" in document.documentElement.dataset) || document.querySelector("dialog[open]")) return;
  if (by) step(by);
  const box = currentBox();
  if (!box) return;
  event.preventDefault();
  box.checked = by ? true : !box.checked;
  select(box, !by && event.shiftKey);
});

// A shortcut of the bar applies to the current row if none is selected, and moves to its field if that is empty.
addEventListener("click", (event) => {
  if (event.isTrusted || !event.target.matches?.('button[form="bulk"]')) return;
  if (!boxes().some((box) => box.checked)) {
    const box = currentBox();
    if (!box) {
      event.preventDefault();
      return dispatchEvent(new CustomEvent("refused", { detail: t("Select a row first. j and k move between rows.") }));
    }
    box.checked = true;
    told();
  }
  const typed = event.target.parentElement.matches(".pick") && event.target.previousElementSibling;
  if (!typed || typed.value) return;
  event.preventDefault();
  const menu = typed.closest("details");
  if (menu) menu.open = true;
  typed.focus();
}, true);

// Enter in a field of the bar presses the button beside it; the browser would press the first, which closes tickets.
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || !event.target.matches?.(".bulk .pick > input")) return;
  event.preventDefault();
  event.target.parentElement.querySelector("button").click();
});

// Rows do not move while somebody reads: a line above the list says what is new. Rows show who is on their ticket.
const followed = document.querySelector("[data-follow]");
let stream = null;
async function look() {
  const { newsOf, since, total } = followed.dataset;
  const ids = boxes().map((box) => box.value).join();
  const answer = await fetch(`/-/news?q=${newsOf}&since=${since}&ids=${ids}`, { headers: { "X-Live": "1" } }).then((each) => each.ok ? each.json() : null, () => null);
  if (!answer) return;
  for (const each of all("[data-here]", followed)) each.textContent = answer.here[each.dataset.here] ?? "";
  const line = document.querySelector("[data-news]");
  if (!line || (!answer.new && String(answer.total) === total)) return;
  line.querySelector("[data-count]").textContent = answer.new ? t("{count} new or changed.", { count: answer.new }) : t("The list has changed.");
  line.hidden = false;
}
const lookInTime = paced(look, 15_000);
function attend() {
  stream?.close();
  if (!followed || document.hidden) return;
  stream = follow(`${followed.dataset.follow}?since=${followed.dataset.followed}`, { message: lookInTime });
}
attend();
document.addEventListener("visibilitychange", attend);

enhance(told);
